import { type CostPart, type CostQuestion, type Costs, type PlainQuestion, quarterMs } from '../../domain/costs.ts'
import { type LabelKind, labelKinds } from '../../domain/labels.ts'
import { askIn } from '../ask-in.ts'
import { idInQuestion, namesOfLabels } from '../labels.ts'
import type { QueryProgram, Rows, Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { anyLabel, eachLabelled, type Labelled } from './label-sums.ts'
import { Answer, barOf, countsOf, readPlain, type Tail } from './plain.ts'
import { type Pass, spansOver } from './spans.ts'
import { inOneBar, isAsked, narrowedBy, quarterOf } from './statements.ts'
import { columnOf, countNames } from './sums.ts'

/** The kind of label that a question is about. @throws Error if it is about both: no sums distinguish them */
export function labelKindOf({ by, where }: Pick<CostQuestion, 'by' | 'where'>): LabelKind | undefined {
  const kinds = labelKinds.filter(kind => by === kind || where[kind] !== undefined)
  if (kinds.length > 1) throw new Error('costs are not kept by end users and tags together')
  return kinds[0]
}

type LabelQuestion = {
  readonly question: CostQuestion
  readonly kind: LabelKind
  /** Only charges with this label. */
  readonly label: string | undefined
  /** The rest of what the question is narrowed to. */
  readonly where: PlainQuestion['where']
  readonly pass: Pass
  /** Charges that are not added up yet. */
  readonly tail: readonly Labelled[]
}

/** Costs by end users or tags, or of one of them. */
export function* readLabelled(question: CostQuestion, kind: LabelKind, pass: Pass, tail: Tail): QueryProgram<Costs> {
  const { end_user: _, tag: __, ...where } = question.where
  const name = question.where[kind]
  const label = name === undefined ? undefined : yield* idInQuestion(kind, name)
  const { since, until } = question
  const labelled = [...eachLabelled(tail.sums)].filter(
    one => one.kind === kind && isAsked(one.place, { since, until, where }) && (label ?? one.label) === one.label,
  )
  const asked = { question, kind, label, where, pass, tail: labelled }
  const rows =
    question.by === kind ? yield* splitByLabel(asked, tail) : yield* splitOne(asked, question.by as CostPart | null)
  return { rows, tail: tail.charges }
}

/** Costs of one label, by any other part. */
function* splitOne(asked: LabelQuestion, by: CostPart | null): QueryProgram<Costs['rows']> {
  const { question } = asked
  const rows = yield* readBars(asked, by === null ? `''` : `p.${columnOf[by]}`)
  const amounts = new Map<string, number>()
  const whatOf = (one: Labelled): string => (by === null ? '' : one.place[columnOf[by]])
  for (const row of rows) add(amounts, text(row, 'what'), whole(row, 'amount'))
  for (const one of asked.tail) add(amounts, whatOf(one), one.counts.amount)
  const names = namedOf(amounts, question.apart)
  const answer = new Answer({ ...question, by, where: asked.where }, names)
  for (const row of rows)
    answer.add(whole(row, 'bar'), answer.nameOf(text(row, 'what')), text(row, 'currency'), countsOf(row, 1))
  for (const one of asked.tail)
    answer.add(barAt(question, one), answer.nameOf(whatOf(one)), one.place.currency, one.counts)
  return answer.inOrder()
}

/** Costs by end users or tags. Charges without one are `''`. */
function* splitByLabel(asked: LabelQuestion, tail: Tail): QueryProgram<Costs['rows']> {
  const { question, kind, label, where, pass } = asked
  const isWhole = label === undefined
  // Charges with several tags count for each: the others are no difference.
  const names = isWhole && kind === 'end_user' ? yield* findLabels(asked) : undefined
  const answer = new Answer({ ...question, by: null, where }, undefined)
  const rows = yield* readBars(asked, 'p.label', names && [...names, anyLabel])
  const shown = names ?? namedOf(amountsOf(asked, rows), yield* apartOf(asked))
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
  for (const one of asked.tail) put(barAt(question, one), one.label, one.place.currency, one.counts)
  if (isWhole) {
    const { apart: _, ...all } = question
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

/** The end users with rows of their own: the most expensive of the whole range, by the fewest spans; undefined for all. */
function* findLabels(asked: LabelQuestion): QueryProgram<ReadonlySet<string> | undefined> {
  const { question } = asked
  const apart = yield* apartOf(asked)
  if (typeof apart !== 'number') return apart && new Set(apart)
  const spans = spansOver(quarterOf(question.since), quarterOf(question.until), asked.pass)
  const { sql, params } = statementOf(asked, 'p.label')
  const amounts = new Map<string, number>()
  for (const row of yield* askIn(`SELECT what, sum(amount) AS amount FROM (${sql}) spans GROUP BY what`, spans, params))
    add(amounts, text(row, 'what'), whole(row, 'amount'))
  for (const { label, counts } of asked.tail) add(amounts, label, counts.amount)
  amounts.delete(anyLabel)
  return namedOf(amounts, apart)
}

/** `apart` of the question, as ids. */
function* apartOf({ question: { apart }, kind }: LabelQuestion): QueryProgram<number | readonly string[] | undefined> {
  if (apart === undefined || typeof apart === 'number') return apart
  const ids: string[] = []
  for (const name of apart) if (name !== '') ids.push(yield* idInQuestion(kind, name))
  return ids
}

function amountsOf({ tail }: LabelQuestion, rows: Rows): Map<string, number> {
  const amounts = new Map<string, number>()
  for (const row of rows) add(amounts, text(row, 'what'), whole(row, 'amount'))
  for (const { label, counts } of tail) add(amounts, label, counts.amount)
  amounts.delete(anyLabel)
  return amounts
}

function namedOf(amounts: ReadonlyMap<string, number>, apart: CostQuestion['apart']): ReadonlySet<string> | undefined {
  if (apart === undefined) return undefined
  if (typeof apart !== 'number') return new Set(apart)
  const inOrder = [...amounts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return new Set(inOrder.slice(0, apart).map(([what]) => what))
}

/** The stored sums of a question, each with the number of its bar. `only`: some labels. */
function* readBars(asked: LabelQuestion, what: string, only?: readonly string[]): QueryProgram<Rows> {
  const { bars, until } = asked.question
  const barOfSpan = new Map<number, number>()
  for (const [bar, at] of bars.entries())
    for (const span of spansOver(quarterOf(at), quarterOf(bars[bar + 1] ?? until), asked.pass)) barOfSpan.set(span, bar)
  const { sql, params } = statementOf(asked, what, only)
  const isOne = bars.length === 1
  const rows = yield* askIn(isOne ? inOneBar(sql) : sql, [...barOfSpan.keys()], params)
  return rows.map(row => ({ ...row, bar: isOne ? 0 : (barOfSpan.get(whole(row, 'span')) ?? 0) }))
}

const counted = countNames.map(name => `sum(s.${name}) AS ${name}`).join(', ')

/** Rows of spans (`(…)`): of the label, of some labels, or of all. By labels alone there are few sums. */
function statementOf(
  { kind, label, where, question }: LabelQuestion,
  what: string,
  only?: readonly string[],
): { readonly sql: string; readonly params: readonly Value[] } {
  const labels = label === undefined ? only : [label]
  const marks = labels && `AND p.label IN (${labels.map(() => '?').join(', ') || 'NULL'})`
  const narrowed = narrowedBy(where)
  const isAlone = narrowed.length === 0 && (question.by === kind || question.by === null)
  if (isAlone)
    return {
      sql: `SELECT p.span AS span, ${what} AS what, p.currency AS currency, ${countNames.map(name => `p.${name} AS ${name}`).join(', ')}
        FROM cost_label_part p WHERE p.kind = ? ${marks ?? ''} AND p.span IN (…)`,
      params: [kind, ...(labels ?? [])],
    }
  // Of one model there are few sums too.
  const isOfModel = narrowed.length === 1 && narrowed[0] === 'model' && (question.by === kind || question.by === null)
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

function barAt({ bars }: CostQuestion, { place }: Labelled): number {
  return barOf(bars, place.quarter * quarterMs)
}

function add(amounts: Map<string, number>, what: string, amount: number): void {
  amounts.set(what, (amounts.get(what) ?? 0) + amount)
}
