import { Component, type ComponentChildren } from 'preact'
import { Button } from '../kit/button.tsx'
import { t } from '../words/index.ts'

type Props = {
  readonly children?: ComponentChildren
  /** The identity of the page in the frame, so that an error ends with its page. Undefined for the outermost one. */
  readonly at?: string
}
type State = { readonly fault: string | null; readonly at: string | undefined }

/** Shows an error of the page itself, instead of an empty page. */
export class FaultPage extends Component<Props, State> {
  override state: State = { fault: null, at: this.props.at }

  static override getDerivedStateFromError(error: unknown) {
    return { fault: String(error) }
  }

  static override getDerivedStateFromProps({ at }: Props, state: State): Partial<State> | null {
    return at === state.at ? null : { fault: null, at }
  }

  override render() {
    const { fault, at } = this.state
    if (fault === null) return this.props.children
    const content = (
      <div class="problem" role="alert">
        <h1>{t('fault')}</h1>
        <p class="theirs">{fault}</p>
        <Button onClick={() => location.assign(at ?? '/console')}>{t('retry')}</Button>
      </div>
    )
    return at === undefined ? <main>{content}</main> : content
  }
}
