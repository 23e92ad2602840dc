import type { QueryProgram } from '../query.ts'
import { byDay } from '../by-day.ts'
import type { Spent } from '../charge-batches/draft.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { type Move, moveAccounts } from './move.ts'

/** Books on users and groups what several keys have spent without a limit. */
export function* bookSpending(
  identity: Pick<WriterIdentity, 'zone' | 'part'>,
  spent: readonly Spent[],
  now: number,
): QueryProgram<void> {
  const { zone, part } = identity
  for (const ofDay of byDay(zone, spent, ([, , at]) => at)) {
    let last = 0
    const moves: Move[] = []
    for (const [, amount, at, user, group] of ofDay) {
      const own = { spent: amount, day: amount, month: amount, released: 0, part }
      moves.push({ kind: 'user', name: user, ...own }, { kind: 'group', name: group, ...own })
      last = Math.max(last, at)
    }
    yield* moveAccounts(identity, moves, last, now)
  }
}
