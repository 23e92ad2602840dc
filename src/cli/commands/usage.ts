import {
  beginningOf,
  type CostRow,
  csvLine,
  dateIn,
  formatMoney,
  moneyCell,
  quarterMs,
  type Storage,
  type UsageRow,
  type UsageSum,
  type VendorRow,
} from '../../index.ts'
import { print, say } from '../exit.ts'
import { describeSpan, readSpan, readZone } from '../moments.ts'
import { withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'
import { safeLine } from '../safe-text.ts'

const dayMs = 86_400_000
const defaultDays = 30

type Summed = 'day' | 'key' | 'model' | 'user'
/** Groupings that read every charge; the others use stored sums. */
type Walked = 'group' | 'tier' | 'upstream'
/** Groupings from the sums of costs: charges count when they settle. */
type Labelled = 'end_user' | 'tag'

type UsageOptions = {
  readonly config: string
  readonly format: string
  readonly by: Summed | Walked | Labelled
  readonly since?: string
  readonly until?: string
  readonly zone?: string
  readonly againstVendor: boolean
}

/** The usage of one day, key, model or other group, in one currency. */
type Sum = {
  readonly of: string
  readonly currency: string
  requests: number
  images: number
  input_tokens: number
  output_tokens: number
  quantity: number
  micros: number
  refunded: number
}

const nameOf: { readonly [sort in Summed]: (row: UsageRow) => string } = {
  day: row => row.day,
  key: row => row.keyId,
  model: row => row.model,
  user: row => row.user,
}

/** Prints the sums of charges in a time range. */
export async function usage(options: UsageOptions): Promise<void> {
  const now = Date.now()
  const zone = readZone(options.zone)
  const span = readSpan(options, now, zone)
  const until = span.until ?? now
  const since = span.since ?? until - defaultDays * dayMs
  say(describeSpan({ ...span, since }))
  const { by, format } = options
  await withStorage(options.config, async storage => {
    if (options.againstVendor) return printCosts(format, await storage.journal.vendorCosts({ since, until }))
    if (by === 'end_user' || by === 'tag') return printLabels(format, by, await sumLabels(storage, by, since, until))
    const sums =
      by === 'group' || by === 'tier' || by === 'upstream'
        ? (await storage.journal.usageBy({ since, until, by })).map(toSum).sort((a, b) => b.micros - a.micros)
        : by === 'day'
          ? await sumDays(storage, { since, until }, zone)
          : addUp(await storage.journal.usage({ since, until }), by)
    if (sums.length === 0) say('no charges in that period')
    // A token tier is shown by its name and quantity.
    const counts = by === 'tier' ? (['quantity'] as const) : (['input_tokens', 'output_tokens'] as const)
    // The columns of CSV files stay as they are, for older scripts.
    const names = by === 'key' && format !== 'csv' ? await namesOfKeys(storage, sums) : undefined
    const records = sums.map(sum => ({
      [by]: sum.of,
      currency: sum.currency,
      requests: sum.requests,
      images: sum.images,
      ...Object.fromEntries(counts.map(name => [name, sum[name]])),
      amount: formatMoney(sum.micros),
      refunded: formatMoney(sum.refunded),
      ...(names && { name: names.get(sum.of) ?? '' }),
    }))
    const headings = [by, 'currency', 'requests', 'images', ...counts, 'amount', 'refunded', ...(names ? ['name'] : [])]
    if (format === 'json') for (const record of records) print(JSON.stringify(record))
    else printRows(format, headings, records)
  })
}

async function namesOfKeys(
  { keys }: Pick<Storage, 'keys'>,
  sums: readonly Sum[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const { of } of sums) names.set(of, (await keys.find(of))?.name ?? '')
  return names
}

/** Sums by end user or tag, in whole quarters of an hour. A charge with several tags counts for each. */
async function sumLabels({ journal }: Pick<Storage, 'journal'>, by: Labelled, since: number, until: number) {
  const [from, to] = [Math.floor(since / quarterMs) * quarterMs, Math.ceil(until / quarterMs) * quarterMs]
  const { rows } = await journal.costs({ since: from, until: to, bars: [from], by, where: {} })
  return rows.toSorted((a, b) => b.amount - a.amount)
}

function printLabels(format: string, by: Labelled, rows: readonly CostRow[]): void {
  if (rows.length === 0) say('no charges in that period')
  const records = rows.map(({ what, currency, charges, images, tokens, amount, refunded }) => ({
    [by]: what ?? '',
    currency,
    charges,
    images,
    tokens,
    amount: formatMoney(amount),
    refunded: formatMoney(refunded),
  }))
  if (format === 'json') for (const record of records) print(JSON.stringify(record))
  else printRows(format, [by, 'currency', 'charges', 'images', 'tokens', 'amount', 'refunded'], records)
}

/** Usage is stored by UTC days: for days of another zone, charges are read one by one. */
async function sumDays(
  { journal }: Pick<Storage, 'journal'>,
  { since, until }: { readonly since: number; readonly until: number },
  zone: string,
): Promise<readonly Sum[]> {
  if (zone === 'UTC') return addUp(await journal.usage({ since, until }), 'day')
  const sums: Sum[] = []
  for (let date = dateIn(zone, since); beginningOf(zone, date) < until; date += dayMs) {
    const from = Math.max(since, beginningOf(zone, date))
    const before = Math.min(until, beginningOf(zone, date + dayMs))
    const day = new Date(date).toISOString().slice(0, 10)
    const rows = await journal.usage({ since: from, until: before })
    sums.push(
      ...addUp(
        rows.map(row => ({ ...row, day })),
        'day',
      ),
    )
  }
  return sums
}

function toSum({ inputTokens, outputTokens, amount, ...same }: UsageSum): Sum {
  return { ...same, input_tokens: inputTokens, output_tokens: outputTokens, micros: amount }
}

const costHeadings = ['day', 'model', 'currency', 'charges', 'untold', 'ours', 'vendor', 'difference'] as const

/** Prints our amount and the vendor's for charges with a reported cost; `untold` counts those without. */
function printCosts(format: string, rows: readonly VendorRow[]): void {
  if (rows.length === 0) say('no vendor reported a cost in that period')
  // A table for spreadsheets has negative amounts as numbers, because the guard against formulas makes text of them.
  const show = format === 'csv' ? moneyCell : formatMoney
  const records = rows.map(({ ours, theirs, ...rest }) => {
    return { ...rest, ours: show(ours), vendor: show(theirs), difference: show(ours - theirs) }
  })
  if (format === 'json') for (const record of records) print(JSON.stringify(record))
  else printRows(format, costHeadings, records)
}

type Record = { readonly [name: string]: string | number }

function printRows(format: string, headings: readonly string[], records: readonly Record[]): void {
  const rows = records.map(record => headings.map(heading => record[heading] ?? ''))
  if (format === 'csv') for (const row of [headings, ...rows]) print(csvLine(row))
  else if (rows.length > 0)
    print(
      formatTable(
        headings,
        rows.map(row => row.map(cell => safeLine(String(cell)))),
      ),
    )
}

function addUp(rows: readonly UsageRow[], by: Summed): readonly Sum[] {
  const sums = new Map<string, Sum>()
  for (const row of rows) {
    const of = nameOf[by](row)
    const key = JSON.stringify([of, row.currency])
    let sum = sums.get(key)
    if (!sum) {
      const nothing = { requests: 0, images: 0, input_tokens: 0, output_tokens: 0, quantity: 0, micros: 0, refunded: 0 }
      sum = { of, currency: row.currency, ...nothing }
      sums.set(key, sum)
    }
    sum.requests += row.requests
    sum.images += row.images
    sum.input_tokens += row.inputTokens
    sum.output_tokens += row.outputTokens
    sum.micros += row.amount
    sum.refunded += row.refunded
  }
  const all = [...sums.values()]
  return by === 'day' ? all : all.sort((a, b) => b.micros - a.micros)
}
