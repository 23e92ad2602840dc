import { type BillingRecord, type LogRecord, logRecord } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { withStorage } from '../open-books.ts'
import { writeOut } from '../write-out.ts'

type ListOptions = {
  readonly limit: number
  readonly model?: string
  readonly key?: string
  readonly config: string
  readonly format: string
}

export async function listLogs(options: ListOptions): Promise<void> {
  await withStorage(options.config, async (storage, { plugins }) => {
    const found = await storage.journal.list({
      limit: options.limit,
      ...(options.model !== undefined && { model: options.model }),
      ...(options.key !== undefined && { keyId: options.key }),
    })
    if (found.length === 0) {
      const all = options.model === undefined && options.key === undefined
      say(all ? 'the log is empty' : 'there is no such request in the log')
    }
    for (const { row, charge } of found) {
      const record = logRecord(row, charge, plugins.known)
      print(options.format === 'json' ? JSON.stringify(record) : formatLine(record))
    }
  })
}

export async function showLog(
  id: string,
  options: { readonly config: string; readonly format: string },
): Promise<void> {
  await withStorage(options.config, async (storage, { plugins }) => {
    const [found] = await storage.journal.list({ limit: 1, id })
    if (!found) throw new Exit(exitCodes.failure, `there is no request '${id}' in the log`)
    const record = logRecord(found.row, found.charge, plugins.known)
    print(options.format === 'json' ? JSON.stringify(record) : formatDetails(record))
  })
}

function formatLine(record: LogRecord): string {
  const { billing } = record
  const bill = billing ? `  ${billing.amount} ${billing.currency} (${billing.state})  ${billing.text}` : ''
  return writeOut(
    `${record.time}  ${record.id}  ${record.status ?? '-'} ${record.outcome}  ${record.model ?? record.operation}  ${record.duration_ms} ms${bill}`,
  )
}

function formatDetails(record: LogRecord): string {
  const lines = [
    `request    ${record.id} at ${record.time}`,
    `outcome    ${record.outcome}, status ${record.status ?? '-'}${record.error ? ` (${record.error})` : ''}, ${record.duration_ms} ms`,
    `caller     key ${record.key_id ?? '-'}, user ${record.user ?? '-'}, group ${record.group ?? '-'}`,
    `model      ${record.model ?? '-'} (${record.operation}) at upstream ${record.upstream ?? '-'}, configuration ${record.config_revision}`,
    `forwarded  ${record.forwarded.join(' ') || '-'}`,
    `dropped    ${record.dropped.join(' ') || '-'}`,
  ]
  if (record.billing) lines.push('', ...formatBill(record.billing))
  return lines.map(writeOut).join('\n')
}

/** A charge for people: the one line with six labels, then why. Lines of tokens say themselves what multiplied them. */
export function formatBill(billing: BillingRecord): readonly string[] {
  const plain = billing.lines.every(({ quantity }) => quantity === null) ? '; no group multiplier applies' : ''
  return [
    billing.text,
    ...billing.lines.map(
      line =>
        `  #${line.index}  ${line.why}  →  ${line.price} ${billing.currency}${line.at ? `  (${line.at})` : ''}${line.flags.length > 0 ? `  [${line.flags.join(', ')}]` : ''}`,
    ),
    `charged    ${billing.amount} ${billing.currency}, ${billing.state}${billing.reason ? ` (${billing.reason})` : ''}${billing.held === '0.00' ? '' : `, ${billing.held} held`}${billing.refunded === '0.00' ? '' : `, ${billing.refunded} given back`}${plain}`,
    ...billing.warnings.map(warning => `note       ${warning}`),
  ]
}
