import type { LevelKind } from '../../domain/budget.ts'
import { bounds } from '../keys/spend.ts'
import { ask, skipLocked, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { mainPart } from './levels.ts'
import { type Move, moveAccounts } from './move.ts'
import { addToDay } from './past-days.ts'

const pastOf = `SELECT start, spent FROM account_spell
  WHERE kind = ? AND name = ? AND part = ? AND period = 'day' AND start <> ?`

/** Rows of one commit. */
const together = 500

/**
 * Adds rows that ended processes have booked to the main rows. A row that is on a later day waits for that day: if it
 * were added to a row of today, its amount would be missing tomorrow. @returns the number of rows
 */
export function* mergeParts(identity: Pick<WriterIdentity, 'zone'>, at: number): QueryProgram<number> {
  const [day, , month] = bounds(identity, at)
  const rows = yield ask(
    `SELECT * FROM account WHERE part <> '' AND day_start <= ?
       AND NOT EXISTS (SELECT 1 FROM replica WHERE account.part LIKE replica.owner || '.%')
     LIMIT ${together} ${skipLocked}`,
    day,
  )
  if (rows.length === 0) return 0
  const moves: Move[] = []
  const past: (readonly [account: { kind: LevelKind; name: string; part: string }, day: number, spent: number])[] = []
  for (const row of rows) {
    const [kind, name, part] = [text(row, 'kind') as LevelKind, text(row, 'name'), text(row, 'part')]
    const account = { kind, name, part: mainPart }
    const own = whole(row, 'day_start')
    if (own > 0) past.push([account, own, whole(row, 'day_spent')])
    for (const row of yield ask(pastOf, kind, name, part, own))
      past.push([account, whole(row, 'start'), whole(row, 'spent')])
    yield ask('DELETE FROM account WHERE kind = ? AND name = ? AND part = ?', kind, name, part)
    yield ask('DELETE FROM account_spell WHERE kind = ? AND name = ? AND part = ?', kind, name, part)
    moves.push({
      kind,
      name,
      part: mainPart,
      spent: whole(row, 'spent'),
      day: 0,
      month: whole(row, 'month_start') === month ? whole(row, 'month_spent') : 0,
      released: 0,
    })
  }
  // This moves the main rows to the current day: their earlier days are stored with the past days. Around midnight a
  // main row may already be on the next day, so each day is added by its name.
  yield* moveAccounts(identity, moves, at)
  for (const [account, start, spent] of past) yield* addToDay(account, start, spent)
  return rows.length
}

/**
 * The same for all rows, at the start of a process that books on the main rows: a copy of a shared database has such
 * rows, and later sweeps do not search for them.
 */
export function* mergeCopied(identity: Pick<WriterIdentity, 'part' | 'zone'>, at: number): QueryProgram<void> {
  if (identity.part !== mainPart) return
  while ((yield* mergeParts(identity, at)) === together);
}
