import { firstIdAt } from '../../util/ids.ts'
import type { QueryProgram } from '../query.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { ChargeBatchWalk } from '../charge-batches/walk.ts'

export const dayMs = 86_400_000
export const hourMs = 3_600_000

/** Time steps, by their numbers since the epoch: `from` (inclusive) to `to` (exclusive). */
export type Steps = { readonly from: number; readonly to: number; readonly stepMs: number }
/** A selection of charges in batches between two times: all of them, or those that have not been added up. */
export type Part = { readonly since: number; readonly until: number; readonly which: 'all' | 'not summed' }

/** The time steps that are wholly between two times. */
export function wholeSteps(since: number, until: number, stepMs: number): Steps {
  const from = Math.ceil(since / stepMs)
  return { from, to: Math.max(Math.floor(until / stepMs), from), stepMs }
}

/** The parts between two times that whole steps do not cover. */
export function partsOutside({ from, to, stepMs }: Steps, since: number, until: number): readonly Part[] {
  const [begin, end] = [from * stepMs, to * stepMs]
  if (begin >= end) return [{ since, until, which: 'all' }]
  const parts: readonly Part[] = [
    { since, until: begin, which: 'all' },
    { since: begin, until: end, which: 'not summed' },
    { since: end, until, which: 'all' },
  ]
  return parts.filter(part => part.since < part.until)
}

/** Reads the charges of a part in batches, in the order of their ids. */
export function* eachBooking(
  { since, until, which }: Part,
  take: (some: readonly Booked[]) => QueryProgram<void> | undefined,
): QueryProgram<void> {
  const walk = new ChargeBatchWalk(firstIdAt('req_', since), firstIdAt('req_', until), which)
  for (;;) {
    const some = yield* walk.next()
    if (some.length === 0) return
    const more = take(some)
    if (more) yield* more
  }
}
