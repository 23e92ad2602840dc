import { countsCell, factNames, type LogMatch, type LogRecord, logRecord, logView } from '../domain/index.ts'
import { csvLine, csvNames } from '../util/index.ts'
import type { AdminRequest } from './api.ts'
import { needOpenSession } from './session/sessions.ts'

const pageRows = 500

/** Rows of the log, newest first, page after page, at the speed of the client. */
async function* records(request: AdminRequest, match: LogMatch): AsyncIterable<LogRecord> {
  const { parts, left } = request
  let before: string | undefined
  while (!left.aborted) {
    // Access was checked only at the start. An error, so that the file is not taken for a complete one.
    if (before !== undefined) await needOpenSession(request, { evenIdle: true })
    const page = await parts.storage.journal.list({
      ...match,
      limit: pageRows,
      ...(before !== undefined && { before }),
    })
    const { known } = parts.plan().plugins
    for (const found of page) yield logRecord(found, known)
    before = page.at(-1)?.row.id
    if (before === undefined || page.length < pageRows) return
  }
}

export async function* exportLines(request: AdminRequest, match: LogMatch): AsyncIterable<string> {
  for await (const record of records(request, match)) yield `${JSON.stringify(record)}\n`
}

export type Cell = string | number | null | undefined

type Read = (record: LogRecord) => Cell
type PlainName = Exclude<
  keyof LogRecord,
  | 'forwarded'
  | 'dropped'
  | 'billing'
  | 'usage'
  | 'marks'
  | 'error_values'
  | 'upstream_said'
  | 'end_user'
  | 'tags'
  | 'alias'
  | 'attempts'
  | 'use_billing'
>
type Bill = NonNullable<LogRecord['billing']>

/** Members that are not a single text or number. */
const apart: ReadonlySet<string> = new Set<keyof LogRecord>([
  'forwarded',
  'dropped',
  'billing',
  'usage',
  'marks',
  'error_values',
  'upstream_said',
  'attempts',
  'end_user',
  'tags',
  'alias',
  'cache',
  'saved',
  'use_billing',
])
const plainNames = logView.names.filter((name): name is PlainName => !apart.has(name))

const ofBill =
  (read: (bill: Bill) => Cell): Read =>
  ({ billing }) =>
    billing && read(billing)

/** Columns of the table, with their values. */
const columns: readonly (readonly [name: string, read: Read])[] = [
  ...plainNames.map(name => [name, (record: LogRecord) => record[name]] as const),
  ['input_tokens', ({ usage }) => usage.input_tokens],
  ['output_tokens', ({ usage }) => usage.output_tokens],
  ['state', ofBill(bill => bill.state)],
  ['大小', ofBill(bill => bill.size)],
  ['请求品质', ofBill(bill => bill.quality)],
  ['生成数量', ofBill(bill => bill.count)],
  ['图片档位', ofBill(bill => bill.tier)],
  ['来源', ofBill(bill => bill.source)],
  ['实际尺寸', ofBill(bill => bill.actual_size)],
  ['currency', ofBill(bill => bill.currency)],
  ['amount', ofBill(bill => bill.amount)],
  ['refunded', ofBill(bill => bill.refunded)],
  ['flags', ofBill(bill => bill.flags.join(' '))],
  ['text', ofBill(bill => bill.text)],
  ['vendor_cost', ofBill(bill => bill.vendor_cost)],
  ['counts', ofBill(countsCell)],
  ...factNames.map(name => [name, ofBill(bill => bill.facts[name])] as const),
  ['end_user', ({ end_user: endUser }) => endUser],
  ['tags', ({ tags }) => csvNames(tags)],
  ['cache', ({ cache }) => cache],
  ['saved', ({ saved }) => saved],
  ['alias', ({ alias }) => alias],
  ['use_amount', ({ use_billing: use }) => use?.amount],
  ['use_refunded', ({ use_billing: use }) => use?.refunded],
]

/** UTF-8 with a byte order mark, without which spreadsheets decode Chinese text wrongly. */
export async function* exportTable(request: AdminRequest, match: LogMatch): AsyncIterable<string> {
  yield `\uFEFF${csvRow(columns.map(([name]) => name))}`
  for await (const record of records(request, match)) yield csvRow(columns.map(([, read]) => read(record)))
}

/** One CSV line, in the format of spreadsheets. */
export function csvRow(cells: readonly Cell[]): string {
  return `${csvLine(cells)}\r\n`
}
