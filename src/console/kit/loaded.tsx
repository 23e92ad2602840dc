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
  // An invalid request fails again.
  if (of.error) return <Problem error={of.error} {...(of.error.status !== 400 && { onRetry: of.reload })} />
  if (of.value === undefined) return <Skeleton {...(shape && { shape })} />
  return <div aria-busy={of.loading}>{children(of.value)}</div>
}
