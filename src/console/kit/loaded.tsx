import type { ComponentChildren } from 'preact'
import type { Load } from '../api/load.ts'
import { t } from '../words/index.ts'
import { Problem } from './problem.tsx'

/** What was asked for, when it is there; until then that it is asked for, or why it cannot be had. */
export function Loaded<T>({
  of,
  children,
}: {
  readonly of: Load<T>
  readonly children: (value: T) => ComponentChildren
}) {
  if (of.error) return <Problem error={of.error} onRetry={of.reload} />
  if (of.value === undefined)
    return (
      <p class="loading" role="status">
        {t('loading')}
      </p>
    )
  return <div aria-busy={of.loading}>{children(of.value)}</div>
}
