import { type CostSplit, costSplits, labelKinds, type CostQuery, type CostRow, quarterMs } from '../../domain/index.ts'
import { beginningOf, csvFile, csvLine, formatMoney } from '../../util/index.ts'
import { costsAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute, Reply } from '../api.ts'
import { costQuery, costWheres, dayMs, daysOf } from '../cost-query.ts'
import { costsOfSeveral } from '../costs-of-several.ts'
import { findKeys } from '../key-names.ts'
import { refuse } from '../reasons.ts'
import { toMoment } from '../to-moment.ts'

const label = { type: 'string', minLength: 1, maxLength: 256 } as const
const hourMs = 3_600_000
/** The maximum days of a query, by the length of bars, because a day has many bars of hours. */
const daysMax = { hour: 14, day: 400, month: 3_700 }
/** The maximum number of rows by name, the most expensive ones; the rest is one row. */
const namedMax = 20

export const costRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/costs',
    access: 'user',
    summary:
      "Get the costs of a range of dates in a time zone, split by one dimension and compared with the previous period. Administrators get everyone's, others their own.",
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        ...costQuery,
        end_user: { ...label, description: 'Only costs of this end user. Cannot be combined with `tag`.' },
        tag: { ...label, description: 'Only costs of charges with this tag. Cannot be combined with `end_user`.' },
        step: { type: 'string', enum: ['hour', 'day', 'month'], default: 'day' },
        by: { type: 'string', enum: costSplits },
        format: { type: 'string', enum: ['json', 'csv'], default: 'json' },
      },
    },
    answer: costsAnswer,
    async handle(request) {
      const { query, parts } = request
      const { zone, step } = query
      const [first, last] = daysOf(query, parts.clock.now())
      const days = (last - first) / dayMs + 1
      if (days > daysMax[step]) throw refuse('invalid', `range_${step}`, { days: daysMax[step] }, { param: 'to' })
      const label = labelWhere(query)
      const wheres = costWheres(request).map(where => ({ ...where, ...label }))
      const by = query.by ?? null
      if (labelKinds.every(kind => by === kind || query[kind] !== undefined))
        throw refuse('invalid', 'labels_together', {}, { param: 'by' })
      const bars = barsOf(zone, first, last, step)
      const [since, until] = [beginningOf(zone, first), beginningOf(zone, last + dayMs)]
      const earlier = beginningOf(zone, first - days * dayMs)
      const { journal } = parts.storage
      // In these splits a charge counts once for each of its tiers or tags: the total needs its own query.
      const sumBy = by === 'tier' || by === 'tag' ? null : by
      const past = { since: earlier, until: since, bars: [earlier] }
      const read = async (question: Omit<CostQuery, 'where'>) =>
        costsOfSeveral(async one => journal.costs(one), wheres, question)
      const [rows, all, allBefore] = await Promise.all([
        read({ since, until, bars, by, apart: namedMax }),
        sumBy === by ? undefined : read({ since, until, bars: [since], by: sumBy }),
        sumBy === by ? undefined : read({ ...past, by: sumBy }),
      ])
      const before = await read({ ...past, by, apart: await namesWith(read, rows, { ...past, by }) })
      const isNarrowed = query.tier !== undefined && new Set(wheres.map(({ tier }) => tier)).size === 1
      const show = (row: CostRow) => showRow(row, isNarrowed || (by === 'tier' && row.what !== null))
      if (query.format === 'csv') return asCsv(rows.map(show), bars, query.by)
      return {
        zone,
        since: toMoment(since),
        until: toMoment(until),
        bars: bars.map(at => toMoment(at)),
        rows: rows.map(show),
        totals: totalsOf(all ?? rows, isNarrowed),
        before: {
          since: toMoment(earlier),
          rows: before.map(show),
          totals: totalsOf(allBefore ?? before, isNarrowed),
        },
        ...(await namesOfRows(
          request,
          by,
          [...namesOf([...rows, ...before])],
          wheres.flatMap(({ key }) => key ?? []),
        )),
      }
    },
  }),
]

/** Filters for labels, which not every charge has. */
function labelWhere({ end_user: endUser, tag }: { readonly end_user?: string; readonly tag?: string }) {
  return { ...(endUser !== undefined && { end_user: endUser }), ...(tag !== undefined && { tag }) }
}

/**
 * The start times of bars. Hours follow the clock, regardless of a day's length. The first month may begin on any day.
 */
function barsOf(zone: string, first: number, last: number, step: 'hour' | 'day' | 'month'): readonly number[] {
  const [since, until] = [beginningOf(zone, first), beginningOf(zone, last + dayMs)]
  if (step === 'hour') return Array.from({ length: Math.ceil((until - since) / hourMs) }, (_, i) => since + i * hourMs)
  const bars: number[] = []
  for (let day = first; day <= last; day += dayMs)
    if (step === 'day' || day === first || new Date(day).getUTCDate() === 1) bars.push(beginningOf(zone, day))
  return bars.map(at => Math.floor(at / quarterMs) * quarterMs)
}

function namesOf(rows: readonly CostRow[]): ReadonlySet<string> {
  return new Set(rows.flatMap(({ what }) => (what === null ? [] : [what])))
}

/** `isOfOneUnit`: whether all use is counted in one unit. */
function showRow({ bar, what, ...sum }: CostRow, isOfOneUnit: boolean) {
  return { bar, what, ...showSum(sum, isOfOneUnit) }
}

type Sum = Omit<CostRow, 'bar' | 'what'>

function showSum({ currency, charges, images, amount, refunded, quantity, tokens, saved }: Sum, isOfOneUnit: boolean) {
  const money = { amount: formatMoney(amount), refunded: formatMoney(refunded), net: formatMoney(amount - refunded) }
  return {
    currency,
    charges,
    images,
    ...money,
    quantity: isOfOneUnit && images === 0 ? quantity : null,
    tokens,
    saved: formatMoney(saved),
  }
}

/** The totals of all rows, by currency. */
function totalsOf(rows: readonly CostRow[], isOfOneUnit: boolean) {
  const totals = new Map<string, { -readonly [N in keyof Sum]: Sum[N] }>()
  for (const { bar: _bar, what: _what, ...sum } of rows) {
    const total = totals.get(sum.currency)
    if (!total) {
      totals.set(sum.currency, sum)
      continue
    }
    for (const name of ['charges', 'images', 'amount', 'refunded', 'quantity', 'tokens', 'saved'] as const)
      total[name] += sum[name]
  }
  return [...totals.values()]
    .sort((a, b) => (a.currency < b.currency ? -1 : 1))
    .map(total => showSum(total, isOfOneUnit))
}

function asCsv(rows: readonly ReturnType<typeof showRow>[], bars: readonly number[], by: string | undefined): Reply {
  const head = [
    'from',
    by ?? 'all',
    'currency',
    'charges',
    'images',
    'amount',
    'refunded',
    'net',
    'quantity',
    'tokens',
    'saved',
  ]
  // Charges without a label have no name, so the rest needs one.
  const rest = labelKinds.some(kind => kind === by) ? '(rest)' : ''
  const lines = rows.map(row => {
    const { bar, what, ...sums } = row
    return [toMoment(bars[bar] ?? 0), what ?? rest, ...Object.values(sums)]
  })
  const headers = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="tollgate-costs.csv"',
  }
  return new Reply(200, headers, csvFile([head, ...lines].map(csvLine)))
}

/**
 * The names of rows, and of rows with costs only in the previous range: the most expensive of these, up to the maximum
 * number of rows.
 */
async function namesWith(
  read: (question: Omit<CostQuery, 'where'>) => Promise<readonly CostRow[]>,
  rows: readonly CostRow[],
  past: Omit<CostQuery, 'apart' | 'where'>,
): Promise<readonly string[]> {
  const names = namesOf(rows)
  // If there is a rest, it may contain costs of any name.
  if (past.by === null || names.size >= namedMax || rows.some(({ what }) => what === null)) return [...names]
  const before = await read({ ...past, apart: namedMax })
  return [...names.union(namesOf(before))].slice(0, namedMax)
}

/** The names of the keys in rows, and the row names without an existing subject. */
async function namesOfRows(
  request: AdminRequest,
  by: CostSplit | null,
  names: readonly string[],
  keys: readonly string[],
) {
  const found = await findKeys(request, [...(by === 'key' ? names : []), ...keys])
  const there = await Promise.all(names.map(name => isThere(request, by, name)))
  const revoked = found.flatMap(({ id, status }) => (status === 'revoked' ? [id] : []))
  return {
    names: Object.fromEntries(found.map(({ id, name }) => [id, name])),
    sessions: found.flatMap(({ id, kind }) => (kind === 'session' ? [id] : [])),
    gone: by === 'key' ? revoked : names.filter((name, i) => name !== '' && !there[i]),
  }
}

async function isThere({ parts }: AdminRequest, by: CostSplit | null, name: string): Promise<boolean> {
  if (by === 'user') return (await parts.storage.users.find(name)) !== undefined
  const { models, groups, upstreams } = parts.plan()
  if (by === 'model') return models.has(name)
  if (by === 'group') return groups.has(name)
  return by !== 'upstream' || upstreams.has(name)
}
