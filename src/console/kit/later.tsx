import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api/call.ts'
import { t } from '../words/index.ts'
import { Problem } from './problem.tsx'

/** A part whose script is fetched when it is shown for the first time. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let known: ComponentType<P> | undefined
  return function Later(props: P) {
    const [state, setState] = useState<{ readonly part?: ComponentType<P>; readonly failed?: true }>(
      known ? { part: known } : {},
    )
    const [turn, setTurn] = useState(0)
    useEffect(() => {
      if (known) return undefined
      let isGone = false
      load().then(
        part => {
          known = part
          if (!isGone) setState({ part })
        },
        () => isGone || setState({ failed: true }),
      )
      return () => void (isGone = true)
    }, [turn])
    const { part: Part, failed } = state
    if (Part) return <Part {...props} />
    if (failed) {
      const again = () => {
        setState({})
        setTurn(turn + 1)
      }
      return <Problem error={new ApiError(0, 'offline', t('problem.offline'))} onRetry={again} />
    }
    return (
      <p class="loading" role="status">
        {t('loading')}
      </p>
    )
  }
}
