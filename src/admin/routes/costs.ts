import { beginningOf, costParts, csvLine, type CostRow, formatMoney, quarterMs } from '../../kit/index.ts'
import { costsAnswer } from '../answers.ts'
import { type Ask, defineRoute, Reply } from '../api.ts'
import { costQuery, costWhere, dayMs, daysOf } from '../cost-query.ts'
import { fail } from '../errors.ts'
import { ownerOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

const hourMs = 3_600_000
/** Days of a question: bars of hours are many. */
const daysMax = { hour: 14, day: 400, month: 3_700 }
/** Of what costs are split by, the dearest; the rest are one. */
const namedMax = 20

export const costRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/costs',
    access: 'user',
    summary:
      'What was charged in a range of days of a time zone, split by one thing and compared with as many days before: of everybody for administrators, else of oneself.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        ...costQuery,
        step: { type: 'string', enum: ['hour', 'day', 'month'], default: 'day' },
        by: { type: 'string', enum: costParts },
        format: { type: 'string', enum: ['json', 'csv'], default: 'json' },
      },
    },
    answer: costsAnswer,
    async handle(ask) {
      const { query, parts } = ask
      const { zone, step } = query
      const [first, last] = daysOf(query, parts.clock.now())
      const days = (last - first) / dayMs + 1
      if (days > daysMax[step])
        throw fail(
          'invalid',
          { why: `A range has at most ${daysMax[step]} days where bars are of one ${step}.` },
          { param: 'to' },
        )
      const where = costWhere(ask)
      const by = query.by ?? null
      const bars = barsOf(zone, first, last, step)
      const [since, until] = [beginningOf(zone, first), beginningOf(zone, last + dayMs)]
      const earlier = beginningOf(zone, first - days * dayMs)
      const { journal } = parts.storage
      // Charges are counted once for each of their tiers there: their sum is one of its own.
      const sumBy = by === 'tier' ? null : by
      const [now, before, all, allBefore] = await Promise.all([
        journal.costs({ since, until, bars, by, where }),
        journal.costs({ since: earlier, until: since, bars: [earlier], by, where }),
        sumBy === by ? undefined : journal.costs({ since, until, bars: [since], by: sumBy, where }),
        sumBy === by ? undefined : journal.costs({ since: earlier, until: since, bars: [earlier], by: sumBy, where }),
      ])
      const rows = fewer(now.rows)
      if (query.format === 'csv') return asCsv(rows, bars, query.by)
      return {
        zone,
        since: toMoment(since),
        until: toMoment(until),
        bars: bars.map(at => toMoment(at)),
        rows: rows.map(show),
        totals: totalsOf((all ?? now).rows),
        before: {
          since: toMoment(earlier),
          rows: fewer(before.rows, namesOf(rows)).map(show),
          totals: totalsOf((allBefore ?? before).rows),
        },
        names: await keyNames(ask, [...(by === 'key' ? namesOf(rows) : []), ...(where.key ? [where.key] : [])]),
      }
    },
  }),
]

/** When bars begin: hours are those of the clock, however long a day is; the first month may begin in the middle of one. */
function barsOf(zone: string, first: number, last: number, step: 'hour' | 'day' | 'month'): readonly number[] {
  const [since, until] = [beginningOf(zone, first), beginningOf(zone, last + dayMs)]
  if (step === 'hour') return Array.from({ length: Math.ceil((until - since) / hourMs) }, (_, i) => since + i * hourMs)
  const bars: number[] = []
  for (let day = first; day <= last; day += dayMs)
    if (step === 'day' || day === first || new Date(day).getUTCDate() === 1) bars.push(beginningOf(zone, day))
  return bars.map(at => Math.floor(at / quarterMs) * quarterMs)
}

type Named = Omit<CostRow, 'what'> & { readonly what: string | null }

function namesOf(rows: readonly Named[]): ReadonlySet<string> {
  return new Set(rows.flatMap(({ what }) => (what === null ? [] : [what])))
}

/** Few enough to be looked at: those that cost least together are one, whose name is null. */
function fewer(rows: readonly CostRow[], known?: ReadonlySet<string>): readonly Named[] {
  const kept = known ?? dearest(rows)
  const found = new Map<string, { -readonly [N in keyof Named]: Named[N] }>()
  for (const row of rows) {
    const what = kept.has(row.what) ? row.what : null
    const place = JSON.stringify([row.bar, row.currency, what])
    const same = found.get(place)
    if (!same) {
      found.set(place, { ...row, what })
      continue
    }
    same.charges += row.charges
    same.images += row.images
    same.amount += row.amount
    same.refunded += row.refunded
  }
  return [...found.values()]
}

function dearest(rows: readonly CostRow[]): ReadonlySet<string> {
  const sums = new Map<string, number>()
  for (const { what, amount } of rows) sums.set(what, (sums.get(what) ?? 0) + amount)
  const inOrder = [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return new Set(inOrder.slice(0, namedMax).map(([what]) => what))
}

function show({ bar, what, ...sum }: Named) {
  return { bar, what, ...showSum(sum) }
}

type Sum = Omit<CostRow, 'bar' | 'what'>

function showSum({ currency, charges, images, amount, refunded }: Sum) {
  const money = { amount: formatMoney(amount), refunded: formatMoney(refunded), net: formatMoney(amount - refunded) }
  return { currency, charges, images, ...money }
}

/** All of them together, by currency. */
function totalsOf(rows: readonly CostRow[]) {
  const totals = new Map<string, { -readonly [N in keyof Sum]: Sum[N] }>()
  for (const { currency, charges, images, amount, refunded } of rows) {
    const total = totals.get(currency) ?? { currency, charges: 0, images: 0, amount: 0, refunded: 0 }
    total.charges += charges
    total.images += images
    total.amount += amount
    total.refunded += refunded
    totals.set(currency, total)
  }
  return [...totals.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1)).map(showSum)
}

function asCsv(rows: readonly Named[], bars: readonly number[], by: string | undefined): Reply {
  const head = ['from', by ?? 'all', 'currency', 'charges', 'images', 'amount', 'refunded', 'net']
  const lines = rows.map(row => {
    const { bar, what, ...rest } = show(row)
    return [toMoment(bars[bar] ?? 0), what ?? '', ...Object.values(rest)]
  })
  const headers = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="tollgate-costs.csv"',
  }
  return new Reply(200, headers, `\uFEFF${[head, ...lines].map(csvLine).join('')}`)
}

/** Of the keys that whoever asks may see: the id of another's says nothing. */
async function keyNames(ask: Ask, ids: readonly string[]): Promise<{ readonly [id: string]: string }> {
  const owner = ownerOf(ask)
  const keys = await Promise.all([...new Set(ids)].map(async id => ask.parts.storage.keys.find(id)))
  const seen = keys.filter(key => key !== undefined && (owner === undefined || key.user === owner))
  return Object.fromEntries(seen.flatMap(key => (key ? [[key.id, key.name]] : [])))
}
