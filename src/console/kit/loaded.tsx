import type { ComponentChildren } from 'preact'
import type { Load } from '../api/load.ts'
import { Problem } from './problem.tsx'
import { type Shape, Skeleton } from './skeleton.tsx'

/** What was asked for, when it is there; until then its outline, or why it cannot be had. */
export function Loaded<T>({
  of,
  shape,
  children,
}: {
  readonly of: Load<T>
  /** Of what stands there until then. */
  readonly shape?: Shape
  readonly children: (value: T) => ComponentChildren
}) {
  // What is asked for wrongly is so again.
  if (of.error) return <Problem error={of.error} {...(of.error.status !== 400 && { onRetry: of.reload })} />
  if (of.value === undefined) return <Skeleton {...(shape && { shape })} />
  return <div aria-busy={of.loading}>{children(of.value)}</div>
}
