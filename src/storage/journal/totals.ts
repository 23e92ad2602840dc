import type { LogMatch, LogRow, LogTotals } from '../../kit/index.ts'
import { askIn } from '../ask-in.ts'
import type { QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { findSegmented } from './charged.ts'
import { listLogs } from './list.ts'

/** Rows that are added up: what comes back at once. */
const rowsMost = 5_000
const rowsTogether = 1_000

const settled = `SELECT id, currency, amount FROM charge WHERE state = 'settled' AND id IN (…)`
const images = `SELECT charge_id FROM line WHERE quantity IS NULL AND charge_id IN (…)`
const refunds = ['entry', 'reversal'].map(
  table => `SELECT charge_id, amount FROM ${table} WHERE kind = 'refund' AND charge_id IN (…)`,
)

/** What the newest rows of a filter come to, as they are listed: each with the whole of its charge. */
export function* sumMatching(match: LogMatch, most = rowsMost): QueryProgram<LogTotals> {
  const totals = new Totals()
  for (let before: string | undefined; totals.requests < most; ) {
    const limit = Math.min(rowsTogether, most - totals.requests)
    const rows = yield* listLogs({ ...match, limit, ...(before !== undefined && { before }) })
    const last = rows.at(-1)
    if (!last) return totals.all(null)
    yield* addRows(totals, rows, match)
    before = last.id
    if (rows.length < limit) return totals.all(null)
    if (totals.requests === most) {
      const [more] = yield* listLogs({ ...match, limit: 1, before })
      return totals.all(more ? last.time : null)
    }
  }
  return totals.all(null)
}

function* addRows(totals: Totals, rows: readonly LogRow[], match: LogMatch): QueryProgram<void> {
  totals.requests += rows.length
  totals.errors += rows.filter(({ status, outcome }) => (status ?? 0) >= 400 || outcome !== 'answered').length
  const ids = rows.map(({ id }) => id)
  const currencies = new Map<string, string>()
  const add = (id: string, currency: string, amount: number): void => {
    currencies.set(id, currency)
    totals.charges++
    totals.sumOf(currency).amount += amount
  }
  for (const row of yield* askIn(settled, ids)) add(text(row, 'id'), text(row, 'currency'), whole(row, 'amount'))
  totals.images += (yield* askIn(images, [...currencies.keys()])).length
  const others = ids.filter(id => !currencies.has(id))
  for (const [id, { terms, amount }] of yield* findSegmented(others, match)) add(id, terms.currency, amount)
  for (const sql of refunds)
    for (const row of yield* askIn(sql, [...currencies.keys()]))
      totals.sumOf(currencies.get(text(row, 'charge_id')) ?? '').refunded += whole(row, 'amount')
}

type Sum = { -readonly [N in keyof LogTotals['sums'][number]]: LogTotals['sums'][number][N] }

class Totals {
  requests = 0
  errors = 0
  charges = 0
  images = 0
  readonly #sums = new Map<string, Sum>()

  sumOf(currency: string): Sum {
    let sum = this.#sums.get(currency)
    if (!sum) this.#sums.set(currency, (sum = { currency, amount: 0, refunded: 0 }))
    return sum
  }

  all(since: number | null): LogTotals {
    const { requests, errors, charges, images } = this
    const sums = [...this.#sums.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1))
    return { requests, errors, charges, images, sums, since }
  }
}
