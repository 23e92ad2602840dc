import { Component, type ComponentChildren } from 'preact'
import { Button } from '../kit/button.tsx'
import { t } from '../words/index.ts'

/** A fault of the page itself leaves a page that says so, never an empty one. */
export class FaultPage extends Component<{ readonly children?: ComponentChildren }, { readonly fault: string | null }> {
  override state: { readonly fault: string | null } = { fault: null }

  static override getDerivedStateFromError(error: unknown) {
    return { fault: String(error) }
  }

  override render() {
    const { fault } = this.state
    if (fault === null) return this.props.children
    return (
      <main>
        <div class="problem" role="alert">
          <h1>{t('fault')}</h1>
          <p class="theirs">{fault}</p>
          <Button onClick={() => location.assign('/console')}>{t('retry')}</Button>
        </div>
      </main>
    )
  }
}
