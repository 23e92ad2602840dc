import { type LogMatch, type LogRecord, logRecord } from '../kit/index.ts'
import type { Ask } from './api.ts'

const pageRows = 500

/** Rows of the log, newest first, page after page, as fast as they are taken. */
async function* records({ parts, left }: Ask, match: LogMatch): AsyncIterable<LogRecord> {
  let before: string | undefined
  while (!left.aborted) {
    const page = await parts.storage.journal.list({
      ...match,
      limit: pageRows,
      ...(before !== undefined && { before }),
    })
    const { known } = parts.plan().plugins
    for (const { row, charge } of page) yield logRecord(row, charge, known)
    before = page.at(-1)?.row.id
    if (before === undefined || page.length < pageRows) return
  }
}

export async function* exportLines(ask: Ask, match: LogMatch): AsyncIterable<string> {
  for await (const record of records(ask, match)) yield `${JSON.stringify(record)}\n`
}

export type Cell = string | number | null | undefined

/** Columns of the table, and what stands in them. */
const columns: { readonly [name: string]: (record: LogRecord) => Cell } = {
  id: record => record.id,
  time: record => record.time,
  key_id: record => record.key_id,
  user: record => record.user,
  group: record => record.group,
  model: record => record.model,
  operation: record => record.operation,
  status: record => record.status,
  outcome: record => record.outcome,
  error: record => record.error,
  duration_ms: record => record.duration_ms,
  upstream: record => record.upstream,
  config_revision: record => record.config_revision,
  client_request_id: record => record.client_request_id,
  input_tokens: record => record.usage.input_tokens,
  output_tokens: record => record.usage.output_tokens,
  state: record => record.billing?.state,
  大小: record => record.billing?.size,
  请求品质: record => record.billing?.quality,
  生成数量: record => record.billing?.count,
  图片档位: record => record.billing?.tier,
  来源: record => record.billing?.source,
  实际尺寸: record => record.billing?.actual_size,
  currency: record => record.billing?.currency,
  amount: record => record.billing?.amount,
  refunded: record => record.billing?.refunded,
  flags: record => record.billing?.flags.join(' '),
  text: record => record.billing?.text,
}

/** UTF-8 with a mark at its head, without which spreadsheets take Chinese for something else. */
export async function* exportTable(ask: Ask, match: LogMatch): AsyncIterable<string> {
  yield `\uFEFF${csvLine(Object.keys(columns))}`
  for await (const record of records(ask, match)) yield csvLine(Object.values(columns).map(read => read(record)))
}

/** One line of a table for spreadsheets (RFC 4180). */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** What begins like a formula is told to be none: it may hold words that a caller chose. Spreadsheets of the East read wide signs too. */
function csvCell(value: Cell): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const inert = /^[=+\-@＝＋－＠\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
