import {
  beginningOf,
  costParts,
  csvLine,
  type CostPart,
  type CostRow,
  dateIn,
  formatMoney,
  isTimeZone,
  quarterMs,
} from '../../kit/index.ts'
import { costsAnswer } from '../answers.ts'
import { type Ask, defineRoute, Reply } from '../api.ts'
import { fail } from '../errors.ts'
import { ownerOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
/** Days of a question: bars of hours are many. */
const daysMax = { hour: 14, day: 400, month: 3_700 }
/** Of what costs are split by, the dearest; the rest are one. */
const namedMax = 20

const date = { type: 'string', pattern: String.raw`^\d{4}-\d\d-\d\d$`, description: 'As in 2026-11-21.' } as const
const name = { type: 'string', minLength: 1, maxLength: 200 } as const

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
        from: { ...date, description: 'The first day; 29 days before the last one by default.' },
        to: { ...date, description: 'The last day, which is part of the range; today by default.' },
        zone: { ...name, default: 'UTC', description: 'A time zone of the IANA database, such as Europe/Berlin.' },
        step: { type: 'string', enum: ['hour', 'day', 'month'], default: 'day' },
        by: { type: 'string', enum: costParts },
        user: name,
        group: name,
        key: name,
        model: name,
        operation: name,
        upstream: name,
        tier: { ...name, description: 'A tier of images, or a unit such as input.' },
        format: { type: 'string', enum: ['json', 'csv'], default: 'json' },
      },
    },
    answer: costsAnswer,
    async handle(ask) {
      const { query, parts } = ask
      const { zone, step } = query
      if (!isTimeZone(zone))
        throw fail('invalid', { why: '`zone` must be a time zone such as Europe/Berlin.' }, { param: 'zone' })
      const [first, last] = daysOf(query, dateIn(zone, parts.clock.now()))
      const days = (last - first) / dayMs + 1
      if (days > daysMax[step])
        throw fail(
          'invalid',
          { why: `A range has at most ${daysMax[step]} days where bars are of one ${step}.` },
          { param: 'to' },
        )
      const where = whereOf(ask)
      const by = query.by ?? null
      const bars = barsOf(zone, first, last, step)
      const [since, until] = [beginningOf(zone, first), beginningOf(zone, last + dayMs)]
      const earlier = beginningOf(zone, first - days * dayMs)
      const [now, before] = await Promise.all([
        parts.storage.journal.costs({ since, until, bars, by, where }),
        parts.storage.journal.costs({ since: earlier, until: since, bars: [earlier], by, where }),
      ])
      const rows = fewer(now.rows)
      if (query.format === 'csv') return asCsv(rows, bars, query.by)
      return {
        zone,
        since: toMoment(since),
        until: toMoment(until),
        bars: bars.map(at => toMoment(at)),
        rows: rows.map(show),
        before: { since: toMoment(earlier), rows: fewer(before.rows, namesOf(rows)).map(show) },
        names: query.by === 'key' ? await keyNames(ask, rows) : {},
      }
    },
  }),
]

/** The first and the last day, as midnights of UTC. @throws Failure for what is no day, or the wrong way round */
function daysOf(
  { from, to }: { readonly from?: string; readonly to?: string },
  today: number,
): readonly [number, number] {
  const last = to === undefined ? today : Date.parse(`${to}T00:00:00Z`)
  const first = from === undefined ? last - 29 * dayMs : Date.parse(`${from}T00:00:00Z`)
  for (const [param, day, said] of [
    ['from', first, from],
    ['to', last, to],
  ] as const)
    if (Number.isNaN(day) || (said !== undefined && new Date(day).toISOString().slice(0, 10) !== said))
      throw fail('invalid', { why: `\`${param}\` must be a day such as 2026-11-21.` }, { param })
  if (last < first) throw fail('invalid', { why: '`from` must not be after `to`.' }, { param: 'from' })
  return [first, last]
}

function whereOf(ask: Ask<{ readonly [P in CostPart]?: string }>): { readonly [P in CostPart]?: string } {
  const where: { [P in CostPart]?: string } = {}
  for (const part of costParts) {
    const value = ask.query[part]
    if (value !== undefined) where[part] = value
  }
  const owner = ownerOf(ask)
  if (owner === undefined) return where
  if (where.user !== undefined && where.user !== owner) throw fail('forbidden', {}, { param: 'user' })
  return { ...where, user: owner }
}

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

function show({ bar, what, currency, charges, images, amount, refunded }: Named) {
  const money = { amount: formatMoney(amount), refunded: formatMoney(refunded), net: formatMoney(amount - refunded) }
  return { bar, what, currency, charges, images, ...money }
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

async function keyNames({ parts }: Ask, rows: readonly Named[]): Promise<{ readonly [id: string]: string }> {
  const keys = await Promise.all([...namesOf(rows)].map(async id => parts.storage.keys.find(id)))
  return Object.fromEntries(keys.flatMap(key => (key ? [[key.id, key.name]] : [])))
}
