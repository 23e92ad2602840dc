import { type CostRow, type Costs, type PlainCostQuery, quarterMs } from '../../domain/costs.ts'
import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, whole } from '../rows.ts'
import { findNames, type Names, namesTogether, splitByCoverage } from './names.ts'
import { addPlaces, openChains } from './places.ts'
import { lengthOfSpan, type PassNumber, quarterOfSpan, quartersFrom, type ReadPass, spansOver } from './spans.ts'
import { inOneBar, matchesQuery, quarterOf, statementOf } from './statements.ts'
import { columnOf, CostSums, countNames, type Counts, noCounts, type Place } from './sums.ts'

const { firsts: _firsts, ...nothing } = noCounts

/** Reads costs by a part that every charge has. */
export function* readPlain(query: PlainCostQuery, pass: ReadPass, { sums, charges: tail }: Tail): QueryProgram<Costs> {
  const matching = [...sums.all()].filter(({ place }) => matchesQuery(place, query))
  const names = yield* findNames(query, matching, pass)
  const answer = new Answer(query, names)
  for (const { place, counts } of matching) answer.addPlace(place, counts)
  yield* addSpans(answer, query, names, pass)
  return { rows: answer.inOrder(), tail }
}

/** The current pass over the ledger, which queries read. */
export function* readPass(): QueryProgram<ReadPass> {
  const [row = {}] = yield ask(
    `SELECT f.pass, f.folded FROM meta m JOIN cost_fold f ON f.pass = m.value WHERE m.name = 'costed'`,
  )
  const number = whole(row, 'pass') === 1 ? 1 : 0
  const folded = whole(row, 'folded')
  const rows = yield ask(
    `SELECT DISTINCT span FROM cost_part_sum WHERE part = '' AND span >= ? AND span < ? AND ${lengthOfSpan} = 0 ORDER BY span`,
    ...quartersFrom(folded, number),
  )
  return { number, folded, recent: rows.map(row => quarterOfSpan(whole(row, 'span'), number)) }
}

export type Tail = { readonly sums: CostSums; readonly charges: number }

/** Charges that are not in the sums yet: a gateway adds them within a minute. */
export function* readTail(pass: PassNumber): QueryProgram<Tail> {
  const sums = new CostSums()
  let charges = 0
  for (const row of yield ask(openChains, pass)) {
    const [chain, last] = [text(row, 'id'), whole(row, 'last')]
    for (let from = whole(row, 'upto'); from < last; ) {
      const done = yield* addPlaces(sums, chain, from, last)
      charges += done.charges
      from = done.upto
    }
  }
  return { sums, charges }
}

/** Adds the stored sums, each to the bar of its span. */
function* addSpans(answer: Answer, query: PlainCostQuery, names: Names, pass: ReadPass): QueryProgram<void> {
  const { bars, until, by } = query
  const barOf = new Map<number, number>()
  for (const [bar, at] of bars.entries())
    for (const span of spansOver(quarterOf(at), quarterOf(bars[bar + 1] ?? until), pass)) barOf.set(span, bar)
  function* read(of: PlainCostQuery, named?: readonly string[]): QueryProgram<Rows> {
    const { sql, params } = statementOf(of, named)
    return yield* selectIn(bars.length === 1 ? inOneBar(sql) : sql, [...barOf.keys()], params)
  }
  function* readNamed(of: PlainCostQuery, named: readonly string[]): QueryProgram<Rows> {
    const found: Row[] = []
    for (let at = 0; at < named.length; at += namesTogether)
      for (const row of yield* read(of, named.slice(at, at + namesTogether))) found.push(row)
    return found
  }
  const add = (row: Row, what: string | null, sign: 1 | -1): void =>
    answer.add(
      bars.length === 1 ? 0 : (barOf.get(whole(row, 'span')) ?? 0),
      what,
      text(row, 'currency'),
      countsOf(row, sign),
    )
  if (names === undefined || by === 'tier') {
    // A charge counts once for each of its tiers: there is no total to subtract from.
    for (const row of yield* read(query)) add(row, answer.nameOf(text(row, 'what')), 1)
    return
  }
  const ranked = yield* splitByCoverage(query, [...names])
  const named = [
    ...(yield* readNamed({ ...query, where: {} }, ranked.whole)),
    ...(yield* readNamed(query, ranked.parted)),
  ]
  for (const row of named) add(row, text(row, 'what'), 1)
  // The rest is the total minus the named rows.
  for (const row of yield* read({ ...query, by: null })) add(row, null, 1)
  for (const row of named) add(row, null, -1)
}

export function countsOf(row: Row, sign: 1 | -1): Counts {
  const counts = { ...noCounts }
  for (const name of countNames) counts[name] = sign * whole(row, name)
  return counts
}

export class Answer {
  readonly #query: Pick<PlainCostQuery, 'bars' | 'by' | 'where'>
  readonly #names: Names
  /** A charge counts once for each tier if the query is by tiers. */
  readonly #countsTiers: boolean
  readonly #rows = new Map<string, { -readonly [N in keyof CostRow]: CostRow[N] }>()

  constructor(query: Pick<PlainCostQuery, 'bars' | 'by' | 'where'>, names: Names) {
    this.#query = query
    this.#names = names
    this.#countsTiers = query.by === 'tier' || query.where.tier !== undefined
  }

  nameOf(what: string): string | null {
    return this.#names?.has(what) === false ? null : what
  }

  addPlace(place: Place, counts: Counts): void {
    const { by, bars } = this.#query
    const what = by === null ? '' : this.nameOf(place[columnOf[by]])
    this.add(barOf(bars, place.quarter * quarterMs), what, place.currency, counts)
  }

  add(bar: number, what: string | null, currency: string, counts: Counts): void {
    const name = JSON.stringify([bar, currency, what])
    let row = this.#rows.get(name)
    if (!row) this.#rows.set(name, (row = { bar, what, currency, ...nothing }))
    row.charges += this.#countsTiers ? counts.charges : counts.firsts
    row.images += counts.images
    row.amount += counts.amount
    row.refunded += counts.refunded
    row.quantity += counts.quantity
    row.tokens += counts.tokens
    row.saved += counts.saved
  }

  /** The rows of each bar, the most expensive first and the rest last. */
  inOrder(): readonly CostRow[] {
    const rows = [...this.#rows.values()].filter(
      ({ what, bar: _bar, currency: _currency, ...counts }) =>
        what !== null || Object.values(counts).some(count => count !== 0),
    )
    return rows.sort((a, b) => a.bar - b.bar || Number(a.what === null) - Number(b.what === null) || byAmount(a, b))
  }
}

function byAmount(a: CostRow, b: CostRow): number {
  const [x, y] = [a.what ?? '', b.what ?? '']
  return b.amount - a.amount || (x < y ? -1 : x > y ? 1 : 0)
}

/** The last bar that begins at or before `at`. */
export function barOf(bars: readonly number[], at: number): number {
  let [low, high] = [0, bars.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((bars[middle] as number) <= at) low = middle
    else high = middle - 1
  }
  return low
}
