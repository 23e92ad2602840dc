import { type CostPart, type CostQuery, type Costs, type PlainCostQuery, quarterMs } from '../../domain/costs.ts'
import { type LabelKind, labelKinds } from '../../domain/labels.ts'
import { selectIn } from '../select-in.ts'
import { idOfLabel, namesOfLabels } from '../labels.ts'
import type { QueryProgram, Rows, Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { anyLabel, eachLabelled, type Labelled } from './label-sums.ts'
import { Answer, barOf, countsOf, readPlain, type Tail } from './plain.ts'
import { type ReadPass, spansOver } from './spans.ts'
import { inOneBar, matchesQuery, narrowedBy, quarterOf } from './statements.ts'
import { columnOf, countNames } from './sums.ts'

/** The kind of label in a query. @throws Error if the query has both kinds: no sums distinguish them */
export function labelKindOf({ by, where }: Pick<CostQuery, 'by' | 'where'>): LabelKind | undefined {
  const kinds = labelKinds.filter(kind => by === kind || where[kind] !== undefined)
  if (kinds.length > 1) throw new Error('costs are not kept by end users and tags together')
  return kinds[0]
}

type LabelQuery = {
  readonly query: CostQuery
  readonly kind: LabelKind
  /** Only charges with this label. */
  readonly label: string | undefined
  /** The other filters of the query. */
  readonly where: PlainCostQuery['where']
  readonly pass: ReadPass
  /** Charges that are not added up yet. */
  readonly tail: readonly Labelled[]
}

/** Costs by end users or tags, or of one end user or tag. */
export function* readLabelled(query: CostQuery, kind: LabelKind, pass: ReadPass, tail: Tail): QueryProgram<Costs> {
  const { end_user: _, tag: __, ...where } = query.where
  const name = query.where[kind]
  const label = name === undefined ? undefined : yield* idOfLabel(kind, name)
  const { since, until } = query
  const labelled = [...eachLabelled(tail.sums)].filter(
    one => one.kind === kind && matchesQuery(one.place, { since, until, where }) && (label ?? one.label) === one.label,
  )
  const labelQuery = { query, kind, label, where, pass, tail: labelled }
  const rows =
    query.by === kind ? yield* splitByLabel(labelQuery, tail) : yield* splitOne(labelQuery, query.by as CostPart | null)
  return { rows, tail: tail.charges }
}

/** Costs of one label, by any other part. */
function* splitOne(labelQuery: LabelQuery, by: CostPart | null): QueryProgram<Costs['rows']> {
  const { query } = labelQuery
  const rows = yield* readBars(labelQuery, by === null ? `''` : `p.${columnOf[by]}`)
  const amounts = new Map<string, number>()
  const whatOf = (one: Labelled): string => (by === null ? '' : one.place[columnOf[by]])
  for (const row of rows) add(amounts, text(row, 'what'), whole(row, 'amount'))
  for (const one of labelQuery.tail) add(amounts, whatOf(one), one.counts.amount)
  const names = namedOf(amounts, query.apart)
  const answer = new Answer({ ...query, by, where: labelQuery.where }, names)
  for (const row of rows)
    answer.add(whole(row, 'bar'), answer.nameOf(text(row, 'what')), text(row, 'currency'), countsOf(row, 1))
  for (const one of labelQuery.tail)
    answer.add(barAt(query, one), answer.nameOf(whatOf(one)), one.place.currency, one.counts)
  return answer.inOrder()
}

/** Costs by end users or tags. Charges without a label have the name `''`. */
function* splitByLabel(labelQuery: LabelQuery, tail: Tail): QueryProgram<Costs['rows']> {
  const { query, kind, label, where, pass } = labelQuery
  const isWhole = label === undefined
  // Charges with several tags count for each tag: a subtraction cannot compute the rest.
  const names = isWhole && kind === 'end_user' ? yield* findLabels(labelQuery) : undefined
  const answer = new Answer({ ...query, by: null, where }, undefined)
  const rows = yield* readBars(labelQuery, 'p.label', names && [...names, anyLabel])
  const shown = names ?? namedOf(amountsOf(labelQuery, rows), yield* apartOf(labelQuery))
  const put = (bar: number, what: string, currency: string, counts: ReturnType<typeof countsOf>): void => {
    const negative = Object.fromEntries(countNames.map(name => [name, -counts[name]])) as typeof counts
    if (what === anyLabel) {
      if (!isWhole) return
      answer.add(bar, '', currency, negative)
      if (kind === 'end_user') answer.add(bar, null, currency, counts)
      return
    }
    const isShown = shown === undefined || shown.has(what)
    if (isShown) answer.add(bar, what, currency, counts)
    if (isWhole && kind === 'end_user') {
      if (isShown) answer.add(bar, null, currency, negative)
    } else if (!isShown) answer.add(bar, null, currency, counts)
  }
  for (const row of rows) put(whole(row, 'bar'), text(row, 'what'), text(row, 'currency'), countsOf(row, 1))
  for (const one of labelQuery.tail) put(barAt(query, one), one.label, one.place.currency, one.counts)
  if (isWhole) {
    const { apart: _, ...all } = query
    const total = yield* readPlain({ ...all, by: null, where }, pass, tail)
    for (const { bar, currency, charges, what: __, ...counts } of total.rows)
      answer.add(bar, '', currency, { ...counts, charges, firsts: charges })
  }
  const named = answer
    .inOrder()
    .filter(row => row.what !== '' || row.charges !== 0 || row.amount !== 0 || row.refunded !== 0)
  const labels = yield* namesOfLabels(named.flatMap(({ what }) => (what ? [what] : [])))
  return named.map(row => ({ ...row, what: row.what ? (labels.get(row.what) ?? row.what) : row.what }))
}

/**
 * The end users with separate rows: the most expensive of the whole range, read from the fewest spans; undefined for
 * all.
 */
function* findLabels(labelQuery: LabelQuery): QueryProgram<ReadonlySet<string> | undefined> {
  const { query } = labelQuery
  const apart = yield* apartOf(labelQuery)
  if (typeof apart !== 'number') return apart && new Set(apart)
  const spans = spansOver(quarterOf(query.since), quarterOf(query.until), labelQuery.pass)
  const { sql, params } = statementOf(labelQuery, 'p.label')
  const amounts = new Map<string, number>()
  for (const row of yield* selectIn(
    `SELECT what, sum(amount) AS amount FROM (${sql}) spans GROUP BY what`,
    spans,
    params,
  ))
    add(amounts, text(row, 'what'), whole(row, 'amount'))
  for (const { label, counts } of labelQuery.tail) add(amounts, label, counts.amount)
  amounts.delete(anyLabel)
  return namedOf(amounts, apart)
}

/** `apart` of the query, with ids instead of names. */
function* apartOf({ query: { apart }, kind }: LabelQuery): QueryProgram<number | readonly string[] | undefined> {
  if (apart === undefined || typeof apart === 'number') return apart
  const ids: string[] = []
  for (const name of apart) if (name !== '') ids.push(yield* idOfLabel(kind, name))
  return ids
}

function amountsOf({ tail }: LabelQuery, rows: Rows): Map<string, number> {
  const amounts = new Map<string, number>()
  for (const row of rows) add(amounts, text(row, 'what'), whole(row, 'amount'))
  for (const { label, counts } of tail) add(amounts, label, counts.amount)
  amounts.delete(anyLabel)
  return amounts
}

function namedOf(amounts: ReadonlyMap<string, number>, apart: CostQuery['apart']): ReadonlySet<string> | undefined {
  if (apart === undefined) return undefined
  if (typeof apart !== 'number') return new Set(apart)
  const inOrder = [...amounts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return new Set(inOrder.slice(0, apart).map(([what]) => what))
}

/** The stored sums of a query, each with the number of its bar. `only`: some labels. */
function* readBars(labelQuery: LabelQuery, what: string, only?: readonly string[]): QueryProgram<Rows> {
  const { bars, until } = labelQuery.query
  const barOfSpan = new Map<number, number>()
  for (const [bar, at] of bars.entries())
    for (const span of spansOver(quarterOf(at), quarterOf(bars[bar + 1] ?? until), labelQuery.pass))
      barOfSpan.set(span, bar)
  const { sql, params } = statementOf(labelQuery, what, only)
  const isOne = bars.length === 1
  const rows = yield* selectIn(isOne ? inOneBar(sql) : sql, [...barOfSpan.keys()], params)
  return rows.map(row => ({ ...row, bar: isOne ? 0 : (barOfSpan.get(whole(row, 'span')) ?? 0) }))
}

const counted = countNames.map(name => `sum(s.${name}) AS ${name}`).join(', ')

/**
 * The statement for rows of spans (`(…)`): of one label, of some labels, or of all. There are few sums by label alone.
 */
function statementOf(
  { kind, label, where, query }: LabelQuery,
  what: string,
  only?: readonly string[],
): { readonly sql: string; readonly params: readonly Value[] } {
  const labels = label === undefined ? only : [label]
  const marks = labels && `AND p.label IN (${labels.map(() => '?').join(', ') || 'NULL'})`
  const narrowed = narrowedBy(where)
  const isAlone = narrowed.length === 0 && (query.by === kind || query.by === null)
  if (isAlone)
    return {
      sql: `SELECT p.span AS span, ${what} AS what, p.currency AS currency, ${countNames.map(name => `p.${name} AS ${name}`).join(', ')}
        FROM cost_label_part p WHERE p.kind = ? ${marks ?? ''} AND p.span IN (…)`,
      params: [kind, ...(labels ?? [])],
    }
  // There are few sums by label and model too.
  const isOfModel = narrowed.length === 1 && narrowed[0] === 'model' && (query.by === kind || query.by === null)
  if (isOfModel)
    return {
      sql: `SELECT p.span AS span, ${what} AS what, p.currency AS currency, ${countNames.map(name => `p.${name} AS ${name}`).join(', ')}
        FROM cost_label_model p WHERE p.kind = ? ${marks ?? ''} AND p.model = ? AND p.span IN (…)`,
      params: [kind, ...(labels ?? []), where.model as string],
    }
  const conditions = narrowed.map(part => `AND p.${columnOf[part]} = ?`).join(' ')
  return {
    sql: `SELECT s.span AS span, ${what} AS what, p.currency AS currency, ${counted}
      FROM cost_label_place p JOIN cost_label_sum s ON s.place = p.id
      WHERE p.kind = ? ${marks ?? ''} ${conditions} AND s.span IN (…) GROUP BY 1, 2, 3`,
    params: [kind, ...(labels ?? []), ...narrowed.map(part => where[part] as string)],
  }
}

function barAt({ bars }: CostQuery, { place }: Labelled): number {
  return barOf(bars, place.quarter * quarterMs)
}

function add(amounts: Map<string, number>, what: string, amount: number): void {
  amounts.set(what, (amounts.get(what) ?? 0) + amount)
}
