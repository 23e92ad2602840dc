import type { ComponentChildren } from 'preact'
import type { Load } from '../api/load.ts'
import { Problem } from './problem.tsx'
import { type Shape, Skeleton } from './skeleton.tsx'

/** The loaded value; until then its outline, or the error. */
export function Loaded<T>({
  of,
  shape,
  children,
}: {
  readonly of: Load<T>
  /** The outline before the first value. */
  readonly shape?: Shape
  readonly children: (value: T) => ComponentChildren
}) {
  // Invalid requests and missing resources would fail again.
  const isLasting = of.error?.status === 400 || of.error?.status === 404
  if (of.error) return <Problem error={of.error} {...(!isLasting && { onRetry: of.reload })} />
  if (of.last === undefined) return <Skeleton {...(shape && { shape })} />
  return <Kept of={of}>{children}</Kept>
}

/**
 * The loaded value; nothing before the first one. While the value for another filter loads, the previous one is shown
 * but hidden from screen readers, so that no sum appears under the wrong filter.
 */
export function Kept<T>({
  of: { value, last, loading },
  children,
}: {
  readonly of: Pick<Load<T>, 'value' | 'last' | 'loading'>
  readonly children: (value: T) => ComponentChildren
}) {
  const shown = value ?? last
  if (shown === undefined) return null
  return (
    <div aria-busy={loading} class={value === undefined ? 'outdated' : ''}>
      {children(shown)}
    </div>
  )
}
