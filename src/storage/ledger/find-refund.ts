import type { Refund } from '../../domain/index.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'

/** The opposite entry of a charge, in rows or in a segment; undefined where nothing was given back. */
export function* findRefund(id: string): QueryProgram<Refund | undefined> {
  for (const table of ['entry', 'reversal'] as const) {
    const [row] = yield ask(
      `SELECT amount, created_at, actor, reason FROM ${table} WHERE charge_id = ? AND kind = 'refund'`,
      id,
    )
    if (row)
      return {
        amount: whole(row, 'amount'),
        at: whole(row, 'created_at'),
        by: text(row, 'actor'),
        reason: textOrNull(row, 'reason'),
      }
  }
  return undefined
}
