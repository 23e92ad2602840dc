import { csvLine } from '../util/csv.ts'
import { formatMoney } from '../util/units.ts'
import type { CostQuery, CostRow, Costs } from './costs.ts'
import type { LabelKind } from './labels.ts'
import { moneyCell } from './statement-balance.ts'

/** The filter of a statement: an end user and a tag, by name. */
export type StatementLabels = { readonly endUser?: string | undefined; readonly tag?: string | undefined }

/** The charges of a month, split by end users or tags. A refund counts in the month of its charge, as in Costs. */
export type StatementSplit = {
  readonly by: LabelKind
  readonly rows: readonly CostRow[]
}

/** Reads the sums by label of a month; undefined without `by`. Charges without a label have the name `''`. */
export async function splitStatement(
  { journal }: { readonly journal: { costs(query: CostQuery): Costs | Promise<Costs> } },
  { from, until }: { readonly from: number; readonly until: number },
  {
    by,
    user,
    group,
  }: {
    readonly by: LabelKind | undefined
    readonly user: string | undefined
    readonly group: string | undefined
  },
): Promise<StatementSplit | undefined> {
  if (by === undefined) return undefined
  const where = { ...(user !== undefined && { user }), ...(group !== undefined && { group }) }
  const { rows } = await journal.costs({ since: from, until, bars: [from], by, where })
  return { by, rows: inOrder(rows) }
}

/** Sorts by currency, the most expensive label first, and charges without a label last. */
function inOrder(rows: readonly CostRow[]): readonly CostRow[] {
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
  return rows.toSorted(
    (a, b) =>
      order(a.currency, b.currency) ||
      Number(a.what === '') - Number(b.what === '') ||
      b.amount - a.amount ||
      order(a.what ?? '', b.what ?? ''),
  )
}

/** The JSON form of a split: money as text, and null for charges without a label. */
export function showSplit({ rows }: StatementSplit) {
  return rows.map(({ what, currency, charges, amount, refunded }) => ({
    label: what === '' ? null : what,
    currency,
    charges,
    charged: formatMoney(amount),
    refunded: formatMoney(refunded),
    costs: formatMoney(amount - refunded),
  }))
}

/** A split as a CSV table. */
export function splitTable(month: string, { by, rows }: StatementSplit): readonly string[] {
  const headings = ['month', by, 'currency', 'charges', 'charged', 'refunded', 'costs']
  const lines = rows.map(({ what, currency, charges, amount, refunded }) => [
    month,
    what ?? '',
    currency,
    charges,
    ...[amount, refunded, amount - refunded].map(moneyCell),
  ])
  return [headings, ...lines].map(csvLine)
}

/** Names the charges of a statement that has only some charges of its accounts: one sentence or none. */
export function labelNote({ endUser, tag }: StatementLabels): readonly string[] {
  const names = [
    ...(endUser === undefined ? [] : [`of end user ${endUser}`]),
    ...(tag === undefined ? [] : [`with tag ${tag}`]),
  ]
  return names.length === 0 ? [] : [`Only charges ${names.join(' and ')}`]
}

/** Describes the sum of a split's rows. */
export function splitNote({ by }: Pick<StatementSplit, 'by'>): string {
  return by === 'tag'
    ? 'A charge with several tags counts for each of them. A refund counts in the month of its charge.'
    : 'The rows add up to the costs of the month. A refund counts in the month of its charge.'
}
