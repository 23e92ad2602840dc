import { spellsAt } from '../../kit/budget.ts'
import type { QueryProgram } from '../query.ts'
import type { Spent } from '../segments/draft.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { type Move, moveAccounts } from './move.ts'

/** Books on users and groups what several keys have spent that nobody bounds. */
export function* spendOfAll(
  identity: Pick<WriterIdentity, 'zone' | 'part'>,
  spent: readonly Spent[],
): QueryProgram<void> {
  const { zone, part } = identity
  // By day, which is another one within a group at midnight and where the clock jumps.
  for (const ofDay of Map.groupBy(spent, ([, , at]) => spellsAt(at, zone).day).values()) {
    let last = 0
    const moves: Move[] = []
    for (const [, amount, at, user, group] of ofDay) {
      const own = { spent: amount, day: amount, month: amount, released: 0, part }
      moves.push({ kind: 'user', name: user, ...own }, { kind: 'group', name: group, ...own })
      last = Math.max(last, at)
    }
    yield* moveAccounts(identity, moves, last)
  }
}
