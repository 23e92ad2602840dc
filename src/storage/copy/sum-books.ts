import type { StatementTotals } from '../../kit/index.ts'
import { sumEntries } from '../ledger/statement.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

/** What the books come to, in micro-units of all currencies together. */
export type BookSums = StatementTotals & {
  readonly toppedUp: number
  /** Of all keys, and of accounts by their kind. */
  readonly spent: { readonly [of: string]: number }
  readonly held: { readonly [of: string]: number }
}

/** Run on one snapshot. */
export function* sumBooks(): QueryProgram<BookSums> {
  const totals = yield* sumEntries({ from: 0, until: Number.MAX_SAFE_INTEGER })
  const [paidIn] = yield ask('SELECT coalesce(sum(amount), 0) AS amount FROM topup')
  const rows = yield ask(
    `SELECT 'key' AS kind, coalesce(sum(spent), 0) AS spent, coalesce(sum(held), 0) AS held FROM key
     UNION ALL SELECT kind, sum(spent), sum(held) FROM account GROUP BY kind ORDER BY kind`,
  )
  const of = (column: string): { readonly [of: string]: number } =>
    Object.fromEntries(rows.map(row => [text(row, 'kind'), whole(row, column)]))
  return { ...totals, toppedUp: paidIn ? whole(paidIn, 'amount') : 0, spent: of('spent'), held: of('held') }
}
