import { costParts, type CostQuestion, type CostRow, type Costs, quarterMs } from '../../kit/costs.ts'
import { ask, type QueryProgram, type Row, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { addPlaces, openChains } from './places.ts'
import { columnOf, CostSums, type Counts, type Place } from './sums.ts'

/** What the ledger comes to: what has been added up, and what stands behind that, read on one state of the database. */
export function* readCosts(question: CostQuestion): QueryProgram<Costs> {
  const answer = new Answer(question)
  const { sql, params } = statementOf(question)
  for (const { bar, from, to, length } of runsOf(question))
    for (const row of yield ask(sql, bar, from, length, from, to, ...params)) answer.addSummed(row)
  let tail = 0
  for (const row of yield ask(openChains)) {
    const [chain, last] = [text(row, 'id'), whole(row, 'last')]
    for (let from = whole(row, 'upto'); from < last; ) {
      const sums = new CostSums()
      const { upto, charges } = yield* addPlaces(sums, chain, from, last)
      for (const { place, counts } of sums.inOrder()) answer.add(place, counts)
      tail += charges
      from = upto
    }
  }
  return { rows: answer.inOrder(), tail }
}

const counted =
  'sum(charges) AS charges, sum(firsts) AS firsts, sum(images) AS images, sum(amount) AS amount, sum(refunded) AS refunded'

/** Bars of one length, one after the other: the number of the first, and quarters. */
type Run = { readonly bar: number; readonly from: number; readonly to: number; readonly length: number }

/**
 * Days of a time zone have no form in SQL that both databases know; days that are as long as one another have one, and nearly
 * all are.
 */
function runsOf({ bars, until }: CostQuestion): readonly Run[] {
  const runs: Run[] = []
  for (const [bar, at] of bars.entries()) {
    const [from, to] = [at / quarterMs, (bars[bar + 1] ?? until) / quarterMs]
    const last = runs.at(-1)
    if (last && last.length === to - from) runs.splice(-1, 1, { ...last, to })
    else runs.push({ bar, from, to, length: to - from })
  }
  return runs.filter(({ length }) => length > 0)
}

/** One run of bars. Its parameters are those of the run, and behind them `params`. */
function statementOf({ by, where }: CostQuestion): { sql: string; params: readonly Value[] } {
  const bar = 'CAST(? AS BIGINT) + (quarter - CAST(? AS BIGINT)) / CAST(? AS BIGINT) AS bar'
  const asked = costParts.filter(part => where[part] !== undefined)
  const [only] = asked
  if (asked.length === 0 || (asked.length === 1 && (only === by || by === null))) {
    const part = only ?? by ?? ''
    const narrowed = only === undefined ? '' : 'AND what = ?'
    const what = by === null ? `''` : 'what'
    const sql = `SELECT ${bar}, ${what} AS what, currency, ${counted} FROM cost_part WHERE quarter >= ? AND quarter < ?
      AND part = ? ${narrowed} GROUP BY 1, 2, 3`
    return { sql, params: [part, ...(only === undefined ? [] : [where[only] as string])] }
  }
  const conditions = asked.map(part => `AND ${columnOf[part]} = ?`).join(' ')
  const what = by === null ? `''` : columnOf[by]
  const sql = `SELECT ${bar}, ${what} AS what, currency, ${counted} FROM cost_sum WHERE quarter >= ? AND quarter < ?
    ${conditions} GROUP BY 1, 2, 3`
  return { sql, params: asked.map(part => where[part] as string) }
}

class Answer {
  readonly #question: CostQuestion
  /** A charge counts once for each tier where tiers are asked about. */
  readonly #countsTiers: boolean
  readonly #rows = new Map<string, { -readonly [N in keyof CostRow]: CostRow[N] }>()

  constructor(question: CostQuestion) {
    this.#question = question
    this.#countsTiers = question.by === 'tier' || question.where.tier !== undefined
  }

  addSummed(row: Row): void {
    const counts = { charges: 0, firsts: 0, images: 0, amount: 0, refunded: 0 }
    for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] = whole(row, name)
    this.#add(whole(row, 'bar'), text(row, 'what'), text(row, 'currency'), counts)
  }

  /** What is not asked for is passed by. */
  add(place: Place, counts: Counts): void {
    const { since, until, by, where } = this.#question
    const at = place.quarter * quarterMs
    if (at < since || at >= until) return
    for (const part of costParts) if (where[part] !== undefined && place[columnOf[part]] !== where[part]) return
    this.#add(barOf(this.#question.bars, at), by === null ? '' : place[columnOf[by]], place.currency, counts)
  }

  #add(bar: number, what: string, currency: string, counts: Counts): void {
    const name = `${bar}\n${currency}\n${what}`
    let row = this.#rows.get(name)
    if (!row) this.#rows.set(name, (row = { bar, what, currency, charges: 0, images: 0, amount: 0, refunded: 0 }))
    row.charges += this.#countsTiers ? counts.charges : counts.firsts
    row.images += counts.images
    row.amount += counts.amount
    row.refunded += counts.refunded
  }

  inOrder(): readonly CostRow[] {
    return [...this.#rows.values()].sort(
      (a, b) => a.bar - b.bar || b.amount - a.amount || (a.what < b.what ? -1 : a.what > b.what ? 1 : 0),
    )
  }
}

/** The last bar that begins at `at` or before. */
function barOf(bars: readonly number[], at: number): number {
  let [low, high] = [0, bars.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((bars[middle] as number) <= at) low = middle
    else high = middle - 1
  }
  return low
}
