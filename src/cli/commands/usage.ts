import { formatMoney, parseDuration, type UsageRow, type VendorRow } from '../../index.ts'
import { csvLine } from '../csv.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { withStorage } from '../open-books.ts'
import { formatTable } from '../table.ts'
import { writeOut } from '../write-out.ts'

const dayMs = 86_400_000
const defaultDays = 30

type Sort = 'day' | 'key' | 'model' | 'user'

type UsageOptions = {
  readonly config: string
  readonly format: string
  readonly by: Sort
  readonly since?: string
  readonly until?: string
  readonly againstVendor: boolean
}

/** What was used of one day, key, model or user, in one currency. */
type Sum = {
  readonly of: string
  readonly currency: string
  requests: number
  images: number
  input_tokens: number
  output_tokens: number
  micros: number
  refunded: number
}

const nameOf: { readonly [sort in Sort]: (row: UsageRow) => string } = {
  day: row => row.day,
  key: row => row.keyId,
  model: row => row.model,
  user: row => row.user,
}

/** What was charged between two moments, added up. */
export async function usage(options: UsageOptions): Promise<void> {
  const now = Date.now()
  const until = options.until === undefined ? now : readMoment('until', options.until, now)
  const since = options.since === undefined ? until - defaultDays * dayMs : readMoment('since', options.since, now)
  if (since >= until) throw new Exit(exitCodes.usage, '--since has to be before --until')
  await withStorage(options.config, async storage => {
    if (options.againstVendor) return printCosts(options.format, await storage.journal.vendorCosts({ since, until }))
    const sums = addUp(await storage.journal.usage({ since, until }), options.by)
    if (sums.length === 0) say('nothing was charged in that time')
    const records = sums.map(({ micros, refunded, of, ...rest }) => ({
      [options.by]: of,
      ...rest,
      amount: formatMoney(micros),
      refunded: formatMoney(refunded),
    }))
    if (options.format === 'json') for (const record of records) print(JSON.stringify(record))
    else printTable(options, records)
  })
}

const costHeadings = ['day', 'model', 'currency', 'charges', 'untold', 'ours', 'vendor', 'difference'] as const

/** Ours and the vendor's, of the charges of which it told its cost; `untold`: those of which it did not. */
function printCosts(format: string, rows: readonly VendorRow[]): void {
  if (rows.length === 0) say('no vendor told its cost in that time')
  const records = rows.map(({ ours, theirs, ...rest }) => {
    return { ...rest, ours: formatMoney(ours), vendor: formatMoney(theirs), difference: formatMoney(ours - theirs) }
  })
  if (format === 'json') for (const record of records) print(JSON.stringify(record))
  else printRows(format, costHeadings, records)
}

function printTable({ by, format }: UsageOptions, records: readonly Record[]): void {
  const headings = [by, 'currency', 'requests', 'images', 'input_tokens', 'output_tokens', 'amount', 'refunded']
  printRows(format, headings, records)
}

type Record = { readonly [name: string]: string | number }

function printRows(format: string, headings: readonly string[], records: readonly Record[]): void {
  const rows = records.map(record => headings.map(heading => record[heading] ?? ''))
  if (format === 'csv') for (const row of [headings, ...rows]) print(csvLine(row))
  else if (rows.length > 0)
    print(
      formatTable(
        headings,
        rows.map(row => row.map(cell => writeOut(String(cell)))),
      ),
    )
}

function addUp(rows: readonly UsageRow[], by: Sort): readonly Sum[] {
  const sums = new Map<string, Sum>()
  for (const row of rows) {
    const of = nameOf[by](row)
    const key = JSON.stringify([of, row.currency])
    let sum = sums.get(key)
    if (!sum) {
      const nothing = { requests: 0, images: 0, input_tokens: 0, output_tokens: 0, micros: 0, refunded: 0 }
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

/** A date (of UTC), a moment, or a time before now. @throws Exit 2 */
function readMoment(option: string, text: string, now: number): number {
  const ago = parseDuration(text)
  if (ago !== undefined) return now - ago
  const moment = /^\d{4}-\d{2}-\d{2}(?:T.*)?$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(moment))
    throw new Exit(exitCodes.usage, `--${option} ${text}: a date (2026-11-01, UTC), a moment, or a time ago (7d, 12h)`)
  return moment
}
