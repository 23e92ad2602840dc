import type { LevelKind } from '../../kit/budget.ts'
import { bounds } from '../keys/spend.ts'
import { ask, skipLocked, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { mainPart } from './levels.ts'
import { type Move, moveAccounts } from './move.ts'

/** Rows of one commit. */
const together = 500

/** Adds up what processes that are gone have booked in rows of their own. */
export function* foldParts(identity: Pick<WriterIdentity, 'zone'>, at: number): QueryProgram<void> {
  const rows = yield ask(
    `SELECT * FROM account WHERE part <> '' AND NOT EXISTS (SELECT 1 FROM replica WHERE account.part LIKE replica.owner || '.%')
     LIMIT ${together} ${skipLocked}`,
  )
  if (rows.length === 0) return
  const [day, dayAhead, month, monthAhead] = bounds(identity, at)
  const moves: Move[] = []
  for (const row of rows) {
    const [kind, name, part] = [text(row, 'kind') as LevelKind, text(row, 'name'), text(row, 'part')]
    yield ask('DELETE FROM account WHERE kind = ? AND name = ? AND part = ?', kind, name, part)
    yield ask('DELETE FROM account_spell WHERE kind = ? AND name = ? AND part = ?', kind, name, part)
    const isToday = whole(row, 'day_start') >= day && whole(row, 'day_start') <= dayAhead
    const isThisMonth = whole(row, 'month_start') >= month && whole(row, 'month_start') <= monthAhead
    moves.push({
      kind,
      name,
      part: mainPart,
      spent: whole(row, 'spent'),
      day: isToday ? whole(row, 'day_spent') : 0,
      month: isThisMonth ? whole(row, 'month_spent') : 0,
      released: 0,
    })
  }
  yield* moveAccounts(identity, moves, at)
}
