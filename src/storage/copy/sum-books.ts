import type { StatementTotals } from '../../domain/index.ts'
import { before } from '../accounts/opening.ts'
import { cash } from '../accounts/top-up.ts'
import { sumEntries } from '../ledger/statement.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

/** The sums of the books, in micro-units of all currencies together. */
export type BookSums = StatementTotals & {
  readonly toppedUp: number
  /** Money that was spent elsewhere before the import. */
  readonly spentBefore: number
  /** The spending of all keys, and of accounts by their kind. */
  readonly spent: { readonly [of: string]: number }
  readonly held: { readonly [of: string]: number }
}

/** Must run on one snapshot. */
export function* sumBooks(): QueryProgram<BookSums> {
  const totals = yield* sumEntries({ from: 0, until: Number.MAX_SAFE_INTEGER })
  const [entered] = yield ask(
    `SELECT coalesce(sum(CASE WHEN debit = ? THEN amount ELSE 0 END), 0) AS paid_in,
       coalesce(sum(CASE WHEN debit IN (?, ?) THEN amount ELSE 0 END), 0) AS spent_before FROM topup`,
    cash,
    before.day,
    before.month,
  )
  const sumOf = (column: string): number => (entered ? whole(entered, column) : 0)
  const rows = yield ask(
    `SELECT 'key' AS kind, coalesce(sum(spent), 0) AS spent, coalesce(sum(held), 0) AS held FROM key
     UNION ALL SELECT kind, sum(spent), sum(held) FROM account GROUP BY kind ORDER BY kind`,
  )
  const of = (column: string): { readonly [of: string]: number } =>
    Object.fromEntries(rows.map(row => [text(row, 'kind'), whole(row, column)]))
  return {
    ...totals,
    toppedUp: sumOf('paid_in'),
    spentBefore: sumOf('spent_before'),
    spent: of('spent'),
    held: of('held'),
  }
}
