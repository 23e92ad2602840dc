import { costParts, type CostQuestion, type CostRow, type Costs, quarterMs } from '../../kit/costs.ts'
import { askIn } from '../ask-in.ts'
import { ask, type QueryProgram, type Row, type Rows, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { addPlaces, openChains } from './places.ts'
import { type Pass, spansOver } from './spans.ts'
import { columnOf, CostSums, countNames, type Counts, type Place, type Sum } from './sums.ts'

/** What the ledger comes to: what has been added up, and what stands behind that, read on one state of the database. */
export function* readCosts(question: CostQuestion): QueryProgram<Costs> {
  const pass = yield* readPass()
  const { sums, charges: tail } = yield* readTail(pass)
  const asked = [...sums.all()].filter(({ place }) => isAsked(place, question))
  const names = yield* findNames(question, asked, pass)
  const answer = new Answer(question, names)
  for (const { place, counts } of asked) answer.addPlace(place, counts)
  yield* addSpans(answer, question, names, pass)
  return { rows: answer.inOrder(), tail }
}

/** The pass over the ledger that is read. */
export function* readPass(): QueryProgram<Pass> {
  const [row] = yield ask(`SELECT value FROM meta WHERE name = 'costed'`)
  return whole(row ?? {}, 'value') === 1 ? 1 : 0
}

/** What no pass has added up yet: within a minute somebody does. */
export function* readTail(pass: Pass): QueryProgram<{ readonly sums: CostSums; readonly charges: number }> {
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

/** Whether charges of a place are asked about. */
export function isAsked(
  place: Place,
  { since, until, where }: Pick<CostQuestion, 'since' | 'until' | 'where'>,
): boolean {
  const at = place.quarter * quarterMs
  if (at < since || at >= until) return false
  return costParts.every(part => where[part] === undefined || place[columnOf[part]] === where[part])
}

/** Of what costs are split by those that stand apart; undefined where all do. */
type Names = ReadonlySet<string> | undefined

/** The dearest of the whole time, by as few spans as there are: that is as much as there are names, however long it is. */
function* findNames(question: CostQuestion, tail: readonly Sum[], pass: Pass): QueryProgram<Names> {
  const { since, until, by, apart } = question
  if (by === null || apart === undefined) return undefined
  if (typeof apart !== 'number') return new Set(apart)
  const sums = new Map<string, number>()
  const add = (what: string, amount: number): void => void sums.set(what, (sums.get(what) ?? 0) + amount)
  for (const { place, counts } of tail) add(place[columnOf[by]], counts.amount)
  const { sql, params } = statementOf(question)
  const spans = spansOver(quarterOf(since), quarterOf(until), pass)
  const inAll = `SELECT what, sum(amount) AS amount FROM (${sql}) spans GROUP BY what`
  for (const row of yield* askIn(inAll, spans, params)) add(text(row, 'what'), whole(row, 'amount'))
  if (sums.size <= apart) return undefined
  const inOrder = [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return new Set(inOrder.slice(0, apart).map(([what]) => what))
}

/** What has been added up, by the bars that spans are in. */
function* addSpans(answer: Answer, question: CostQuestion, names: Names, pass: Pass): QueryProgram<void> {
  const { bars, until, by } = question
  const barOf = new Map<number, number>()
  for (const [bar, at] of bars.entries())
    for (const span of spansOver(quarterOf(at), quarterOf(bars[bar + 1] ?? until), pass)) barOf.set(span, bar)
  function* read(of: CostQuestion, named?: ReadonlySet<string>): QueryProgram<Rows> {
    const { sql, params } = statementOf(of, named)
    return yield* askIn(bars.length === 1 ? inOneBar(sql) : sql, [...barOf.keys()], params)
  }
  const add = (row: Row, what: string | null, sign: 1 | -1): void =>
    answer.add(
      bars.length === 1 ? 0 : (barOf.get(whole(row, 'span')) ?? 0),
      what,
      text(row, 'currency'),
      countsOf(row, sign),
    )
  if (names === undefined || by === 'tier') {
    // A charge counts once for each of its tiers: there is no sum of all that the others could be told from.
    for (const row of yield* read(question)) add(row, answer.nameOf(text(row, 'what')), 1)
    return
  }
  const named: Rows = names.size > 0 ? yield* read(question, names) : []
  for (const row of named) add(row, text(row, 'what'), 1)
  // Others are what there is beside those that have names.
  for (const row of yield* read({ ...question, by: null })) add(row, null, 1)
  for (const row of named) add(row, null, -1)
}

const counted = countNames.map(name => `sum(${name}) AS ${name}`).join(', ')

/** Where there is one bar, which span it was says nothing. */
function inOneBar(sql: string): string {
  return `SELECT 0 AS span, what, currency, ${counted} FROM (${sql}) spans GROUP BY what, currency`
}

/**
 * Rows of spans (`(…)`), of what is asked about. Its parameters stand before the spans. By one part alone there are sums that are
 * no more than its names; else the places of the smallest detail that tells what is asked.
 */
function statementOf(
  { by, where }: Pick<CostQuestion, 'by' | 'where'>,
  named?: ReadonlySet<string>,
): { readonly sql: string; readonly params: readonly Value[] } {
  const asked = costParts.filter(part => where[part] !== undefined)
  const [only] = asked
  const names = [...(named ?? [])]
  const isNamed = (column: string): string =>
    names.length === 0 ? '' : `AND ${column} IN (${names.map(() => '?').join(', ')})`
  if (asked.length === 0 || (asked.length === 1 && (only === by || by === null))) {
    const narrowed = only === undefined ? '' : 'AND what = ?'
    const sql = `SELECT span, ${by === null ? `''` : 'what'} AS what, currency, ${countNames.join(', ')} FROM cost_part_sum
      WHERE part = ? ${narrowed} ${isNamed('what')} AND span IN (…)`
    return { sql, params: [only ?? by ?? '', ...(only === undefined ? [] : [where[only] as string]), ...names] }
  }
  const { sql: places, params } = placesOf(where, by)
  const what = by === null ? `''` : `p.${columnOf[by]}`
  const sql = `SELECT s.span AS span, ${what} AS what, p.currency AS currency, ${countNames.map(name => `sum(s.${name}) AS ${name}`).join(', ')}
    FROM cost_place p JOIN cost_place_sum s ON s.place = p.id WHERE ${places} ${isNamed(what)} AND s.span IN (…)
    GROUP BY 1, 2, 3`
  return { sql, params: [...params, ...names] }
}

/** A condition on `cost_place p`: places of the smallest detail that tells what is asked. */
export function placesOf(
  where: CostQuestion['where'],
  by: CostQuestion['by'],
): { readonly sql: string; readonly params: readonly Value[] } {
  const asked = costParts.filter(part => where[part] !== undefined)
  const isTold = (part: 'key' | 'user'): boolean => by === part || where[part] !== undefined
  const detail = isTold('key') ? 'key' : isTold('user') ? 'user' : 'all'
  return {
    sql: ['p.detail = ?', ...asked.map(part => `p.${columnOf[part]} = ?`)].join(' AND '),
    params: [detail, ...asked.map(part => where[part] as string)],
  }
}

function quarterOf(ms: number): number {
  return Math.floor(ms / quarterMs)
}

function countsOf(row: Row, sign: 1 | -1): Counts {
  const counts = { charges: 0, firsts: 0, images: 0, amount: 0, refunded: 0 }
  for (const name of countNames) counts[name] = sign * whole(row, name)
  return counts
}

class Answer {
  readonly #question: CostQuestion
  readonly #names: Names
  /** A charge counts once for each tier where tiers are asked about. */
  readonly #countsTiers: boolean
  readonly #rows = new Map<string, { -readonly [N in keyof CostRow]: CostRow[N] }>()

  constructor(question: CostQuestion, names: Names) {
    this.#question = question
    this.#names = names
    this.#countsTiers = question.by === 'tier' || question.where.tier !== undefined
  }

  nameOf(what: string): string | null {
    return this.#names?.has(what) === false ? null : what
  }

  addPlace(place: Place, counts: Counts): void {
    const { by, bars } = this.#question
    const what = by === null ? '' : this.nameOf(place[columnOf[by]])
    this.add(barOf(bars, place.quarter * quarterMs), what, place.currency, counts)
  }

  add(bar: number, what: string | null, currency: string, counts: Counts): void {
    const name = JSON.stringify([bar, currency, what])
    let row = this.#rows.get(name)
    if (!row) this.#rows.set(name, (row = { bar, what, currency, charges: 0, images: 0, amount: 0, refunded: 0 }))
    row.charges += this.#countsTiers ? counts.charges : counts.firsts
    row.images += counts.images
    row.amount += counts.amount
    row.refunded += counts.refunded
  }

  /** The dearest of each bar first, the others behind all. */
  inOrder(): readonly CostRow[] {
    const rows = [...this.#rows.values()].filter(
      ({ what, charges, images, amount, refunded }) =>
        what !== null || charges !== 0 || images !== 0 || amount !== 0 || refunded !== 0,
    )
    return rows.sort((a, b) => a.bar - b.bar || Number(a.what === null) - Number(b.what === null) || byAmount(a, b))
  }
}

function byAmount(a: CostRow, b: CostRow): number {
  const [x, y] = [a.what ?? '', b.what ?? '']
  return b.amount - a.amount || (x < y ? -1 : x > y ? 1 : 0)
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
