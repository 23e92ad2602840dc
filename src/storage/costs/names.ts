import type { CostPart, PlainCostQuery } from '../../domain/costs.ts'
import { selectIn, inOne } from '../select-in.ts'
import { ask, type QueryProgram, type Rows, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { type ReadPass, spansOver } from './spans.ts'
import { matchExpression, detailOf, isOfOnePart, type Narrowed, quarterOf, statementOf } from './statements.ts'
import { columnOf, type Sum } from './sums.ts'

/** The names with separate rows; undefined if all have one. */
export type Names = ReadonlySet<string> | undefined

type Amounts = Map<string, number>

/** The number of most expensive names that are read first; all are read after that. */
const boundsFirst = 1_024
/** Up to this number, all names are read together. */
const few = 64
/** The number of names in one statement: few at first, because few may be enough. */
const batches = [32, 64, 128] as const
const batchMost = 256
export const namesTogether = 512

/**
 * The most expensive names of the whole range, read from the fewest spans: the cost depends on the number of names, not
 * on the range.
 */
export function* findNames(query: PlainCostQuery, tail: readonly Sum[], pass: ReadPass): QueryProgram<Names> {
  const { since, until, by, apart } = query
  if (by === null || apart === undefined) return undefined
  if (typeof apart !== 'number') return new Set(apart)
  const tailSums: Amounts = new Map()
  for (const { place, counts } of tail) add(tailSums, place[columnOf[by]], counts.amount)
  const spans = spansOver(quarterOf(since), quarterOf(until), pass)
  const isAmongMany = isBounded(query)
  const sums = isAmongMany
    ? yield* sumMostExpensive({ query, by, spans, apart }, tailSums)
    : yield* sumEach({ query, by, spans, apart }, tailSums)
  if (sums.size <= apart && !isAmongMany) return undefined
  return new Set(
    inOrder(sums)
      .slice(0, apart)
      .map(([what]) => what),
  )
}

type Search = {
  readonly query: Narrowed
  readonly by: CostPart
  readonly spans: readonly number[]
  readonly apart: number
}

/**
 * Whether names are read by upper bounds: there may be very many users and keys, each in as many places as there are
 * combinations of models, tiers and so on. If a query has another filter, the total of a name is its upper bound.
 */
function isBounded({ by, where }: Narrowed): boolean {
  if (where.key !== undefined || isOfOnePart({ by, where })) return false
  return by === 'key' || (by === 'user' && where.user === undefined)
}

/** Sums the most expensive names, and one more than are shown: it indicates that there are others. */
function* sumEach({ query, spans, apart }: Search, tailSums: Amounts): QueryProgram<Amounts> {
  const sums = new Map(tailSums)
  const most = apart + 1
  const rows = yield* sumNames(query, spans, { most })
  for (const row of rows) add(sums, text(row, 'what'), whole(row, 'amount'))
  if (rows.length < most) return sums
  const known = new Set(rows.map(row => text(row, 'what')))
  const missed = [...tailSums.keys()].filter(what => !known.has(what))
  for (const row of yield* sumSome(query, spans, missed)) add(sums, text(row, 'what'), whole(row, 'amount'))
  return sums
}

/**
 * The same with a filter: reads candidates until no other name can have a higher sum, because no charge is negative.
 */
function* sumMostExpensive(search: Search, tailSums: Amounts): QueryProgram<Amounts> {
  const { query, apart } = search
  const sums = new Map(tailSums)
  const seen = new Set<string>()
  const bounding = yield* boundingOf(search)
  for (const most of [boundsFirst, undefined]) {
    const rows = yield* bounding.ask(most)
    if (query.by === 'user' && rows.length <= few) return yield* sumEach(search, tailSums)
    if (seen.size === 0) yield* sumNarrowed(search, [...tailSums.keys()], new Map(), sums)
    for (const what of tailSums.keys()) seen.add(what)
    const bounds: Amounts = new Map()
    for (const row of rows) add(bounds, text(row, 'what'), whole(row, 'amount'))
    const names = inOrder(bounds).flatMap(([what]) => (seen.has(what) ? [] : [what]))
    for (let at = 0, batch = 0; at < names.length; batch++) {
      const [lowest, next] = [lowestOf(sums, apart), bounds.get(names[at] as string) ?? 0]
      // Names with equal amounts are shown in order of name, but only if there are no others.
      if (lowest > next || (bounding.isExact && tailSums.size === 0 && lowest === next)) return sums
      const some = names.slice(at, at + (batches[batch] ?? batchMost))
      yield* sumNarrowed(search, some, bounding.isOfWhole ? bounds : new Map(), sums)
      for (const what of some) seen.add(what)
      at += some.length
    }
    if (most === undefined || rows.length < most) break
  }
  return sums
}

/** Reads the upper bound of each name, highest first: the first `most`, or all. */
type Bounding = {
  readonly ask: (most: number | undefined) => QueryProgram<Rows>
  /** Each bound is the name's total, whatever the query. */
  readonly isOfWhole: boolean
  /** Each bound is the name's amount in the query. */
  readonly isExact: boolean
}

function* boundingOf(search: Search): QueryProgram<Bounding> {
  const { query, by, spans } = search
  const whole: Bounding = {
    ask: most => sumNames({ by, where: {} }, spans, { most, among: amongUser(query) }),
    isOfWhole: true,
    isExact: false,
  }
  const together = inOne(spans)
  if (by !== 'key' || query.where.user !== undefined || !together) return whole
  const { matching, others } = yield* findKeyPlaces(query.where)
  const isLess = others.length < matching.length
  const places = inOne(isLess ? others : matching)
  if (!places) return matching.length === 0 ? { ...whole, ask: () => selectIn('', []) } : whole
  const marks = (values: readonly Value[]): string => `(${values.map(() => '?').join(', ')})`
  const ofPlaces = `FROM cost_key_sum WHERE place IN ${marks(places)} AND span IN ${marks(together)}`
  // Subtracts the places that do not match from the total.
  const from = isLess
    ? `(SELECT what, amount FROM cost_part_sum WHERE part = 'key' AND span IN ${marks(together)}
        UNION ALL SELECT key_id AS what, -amount AS amount ${ofPlaces}) sums`
    : `(SELECT key_id AS what, amount ${ofPlaces}) sums`
  const params = [...(isLess ? together : []), ...places, ...together]
  function* askPlaces(most: number | undefined): QueryProgram<Rows> {
    return yield ask(
      `SELECT what, sum(amount) AS amount FROM ${from} GROUP BY what ORDER BY 2 DESC, 1${most === undefined ? '' : ' LIMIT ?'}`,
      ...params,
      ...(most === undefined ? [] : [most]),
    )
  }
  return { ask: askPlaces, isOfWhole: false, isExact: !isLess && query.where.tier === undefined }
}

/** Places that distinguish keys and not tiers: those that match the query, and the others. */
function* findKeyPlaces(
  where: PlainCostQuery['where'],
): QueryProgram<{ readonly matching: readonly number[]; readonly others: readonly number[] }> {
  const { sql, params } = matchExpression(where)
  const facts = 'group_name, model, operation, upstream, currency'
  const rows = yield ask(
    `SELECT max(CASE WHEN p.tier = '' THEN p.id ELSE 0 END) AS place, max(${sql}) AS is_asked FROM cost_place p
      WHERE p.detail = 'all' AND p.key_id = '' AND p.user_name = '' GROUP BY ${facts}`,
    ...params,
  )
  const of = (isMatch: number): readonly number[] =>
    rows.flatMap(row => (whole(row, 'is_asked') === isMatch ? [whole(row, 'place')] : []))
  return { matching: of(1), others: of(0) }
}

/** All keys that a user has ever had. */
function amongUser({ by, where: { user } }: Narrowed): Among | undefined {
  if (by !== 'key' || user === undefined) return undefined
  return { sql: `WHERE what IN (SELECT key_id FROM cost_place WHERE user_name = ? AND detail = 'key')`, params: [user] }
}

/** The smallest of the `count` largest amounts; -1 if there are fewer. */
function lowestOf(sums: Amounts, count: number): number {
  return [...sums.values()].sort((a, b) => b - a)[count - 1] ?? -1
}

/** Adds the sums of some names in the query. `bounds`: the known totals of names. */
function* sumNarrowed(
  { query, by, spans }: Search,
  names: readonly string[],
  bounds: ReadonlyMap<string, number>,
  sums: Amounts,
): QueryProgram<void> {
  const found = yield* splitByCoverage(query, names)
  const unknown: string[] = []
  for (const what of found.whole) {
    const amount = bounds.get(what)
    if (amount === undefined) unknown.push(what)
    else add(sums, what, amount)
  }
  for (const row of yield* sumSome({ by, where: {} }, spans, unknown))
    add(sums, text(row, 'what'), whole(row, 'amount'))
  for (const row of yield* sumSome(query, spans, found.parted)) add(sums, text(row, 'what'), whole(row, 'amount'))
}

/**
 * Splits users or keys into those with all their charges in the query, and those with only some: sums by one part are
 * enough for the former. `parted` has all of them if places do not distinguish that.
 */
export function* splitByCoverage(
  { by, where }: Narrowed,
  names: readonly string[],
): QueryProgram<{ readonly whole: readonly string[]; readonly parted: readonly string[] }> {
  if (by === null || !isBounded({ by, where })) return { whole: [], parted: names }
  const { sql, params } = matchExpression(where)
  const what = `p.${columnOf[by]}`
  const rows = yield* selectIn(
    `SELECT ${what} AS what, min(${sql}) AS least, max(${sql}) AS most FROM cost_place p
      WHERE p.detail = ?${by === 'user' ? ` AND p.key_id = ''` : ''} AND ${what} IN (…) GROUP BY ${what}`,
    names,
    [...params, ...params, detailOf({ by, where })],
  )
  const matching = rows.filter(row => whole(row, 'most') === 1)
  const of = (least: number): readonly string[] => [
    ...new Set(matching.filter(row => whole(row, 'least') === least).map(row => text(row, 'what'))),
  ]
  return { whole: of(1), parted: of(0) }
}

type Among = { readonly sql: string; readonly params: readonly Value[] }

/** The amount of each name, the most expensive first; `most` of them. */
function* sumNames(
  query: Narrowed,
  spans: readonly number[],
  { most, among }: { readonly most?: number | undefined; readonly among?: Among | undefined },
): QueryProgram<Rows> {
  const { sql, params } = statementOf(query)
  const sums = `SELECT what, sum(amount) AS amount FROM (${sql}) spans`
  const together = inOne(spans)
  // No single one of several statements has the most expensive names of all.
  if (!together) return yield* selectIn(`${sums} GROUP BY what`, spans, params)
  return yield ask(
    `${sums.replace('(…)', `(${together.map(() => '?').join(', ')})`)} ${among?.sql ?? ''} GROUP BY what
      ORDER BY 2 DESC, 1${most === undefined ? '' : ' LIMIT ?'}`,
    ...params,
    ...together,
    ...(among?.params ?? []),
    ...(most === undefined ? [] : [most]),
  )
}

function* sumSome(query: Narrowed, spans: readonly number[], names: readonly string[]): QueryProgram<Rows> {
  const found: Rows[number][] = []
  for (let at = 0; at < names.length; at += namesTogether) {
    const { sql, params } = statementOf(query, names.slice(at, at + namesTogether))
    found.push(
      ...(yield* selectIn(`SELECT what, sum(amount) AS amount FROM (${sql}) spans GROUP BY what`, spans, params)),
    )
  }
  return found
}

function inOrder(sums: Amounts): readonly (readonly [string, number])[] {
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
}

function add(sums: Amounts, what: string, amount: number): void {
  sums.set(what, (sums.get(what) ?? 0) + amount)
}
