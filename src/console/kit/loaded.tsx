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
  /** The outline until then. */
  readonly shape?: Shape
  readonly children: (value: T) => ComponentChildren
}) {
  // An invalid request fails again, and what does not exist is not found again.
  const isLasting = of.error?.status === 400 || of.error?.status === 404
  if (of.error) return <Problem error={of.error} {...(!isLasting && { onRetry: of.reload })} />
  if (of.last === undefined) return <Skeleton {...(shape && { shape })} />
  return <Kept of={of}>{children}</Kept>
}

/**
 * The loaded value; nothing before the first one. While the value of another filter loads, the last one keeps its place
 * but cannot be read, so that no sum is shown under a filter that it is not of.
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
