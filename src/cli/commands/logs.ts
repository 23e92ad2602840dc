import {
  type BillingRecord,
  countsCell,
  factNames,
  csvLine,
  csvNames,
  followLog,
  justEnded,
  formatIn,
  formatMoney,
  type LogMatch,
  type LoggedRequest,
  type LogRecord,
  logRecord,
  parseMoney,
  type Phase,
  phasesOf,
  type Storage,
  systemClock,
  requestOfCharge,
} from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { describeSpan, readSpan, readZone } from '../moments.ts'
import { withStorage } from '../with-storage.ts'
import { formatTable, formatRow } from '../table.ts'
import { safeLine } from '../safe-text.ts'

type ListOptions = {
  readonly limit: number
  readonly since?: string
  readonly until?: string
  readonly zone?: string
  readonly status?: string
  readonly user?: string
  readonly model?: string
  readonly key?: string
  readonly endUser?: string
  readonly tag?: string
  readonly outcome?: NonNullable<LogMatch['outcome']>
  readonly cache?: NonNullable<LogMatch['cache']>
  readonly result?: NonNullable<LogMatch['result']>
  readonly minCost?: string
  readonly follow: boolean
  readonly config: string
  readonly format: string
}

/** The filter of a query, without its limit. */
type LogOptions = {
  readonly match: LogMatch
  /** The minimum cost of a request in micro-units. */
  readonly minCost: number
  readonly zone: string
}

const pageRows = 500

/** Lists the log, newest first; with `--follow` oldest first, then new rows until Ctrl-C. */
export async function listLogs(options: ListOptions): Promise<void> {
  const query = readOptions(options)
  await withStorage(options.config, async (storage, { plugins }) => {
    const passed = options.follow ? await justEnded(storage.journal, query.match, systemClock) : []
    const found = await collect(storage, query, options.limit)
    const records = found.map(one => logRecord(one, plugins.known))
    const write = printer(options.format, query.zone, options.follow)
    if (options.follow) {
      write(records.toReversed())
      await follow(storage, query, [...passed, ...found.map(({ row }) => row.id)], some =>
        write(some.map(one => logRecord(one, plugins.known))),
      )
      return
    }
    if (records.length === 0)
      say(
        Object.keys(query.match).length + query.minCost === 0 ? 'the log is empty' : 'no matching requests in the log',
      )
    write(records)
  })
}

/** @throws Exit 2 for contradictory options */
function readOptions(options: ListOptions): LogOptions {
  const { status, user, model, key, endUser, tag, outcome, cache, result, follow } = options
  const zone = readZone(options.zone)
  const span = readSpan(options, Date.now(), zone)
  if (follow && span.until !== undefined)
    throw new Exit(exitCodes.usage, '--follow and --until cannot be combined: remove one')
  if (span.since !== undefined || span.until !== undefined) say(describeSpan(span))
  if (status !== undefined && !/^(?:[1-5]\d\d|[2-5]xx)$/.test(status))
    throw new Exit(exitCodes.usage, `--status ${status}: expected a status such as 429, or a class such as 4xx`)
  const minCost = options.minCost === undefined ? 0 : parseMoney(options.minCost)
  if (minCost === undefined)
    throw new Exit(exitCodes.usage, `--min-cost ${options.minCost}: expected an amount such as 0.04`)
  const match: LogMatch = {
    ...(span.since !== undefined && { since: span.since }),
    ...(span.until !== undefined && { until: span.until }),
    ...(status !== undefined && { status: /^\d+$/.test(status) ? Number(status) : (status as '4xx') }),
    ...(user !== undefined && { user }),
    ...(model !== undefined && { model }),
    ...(key !== undefined && { keyId: key }),
    ...(endUser !== undefined && { endUser }),
    ...(tag !== undefined && { tag }),
    ...(outcome !== undefined && { outcome }),
    ...(cache !== undefined && { cache }),
    ...(result !== undefined && { result }),
  }
  return { match, minCost, zone }
}

/** Reads the newest records, page by page up to `limit`. */
async function collect(
  storage: Storage,
  { match, minCost }: LogOptions,
  limit: number,
): Promise<readonly LoggedRequest[]> {
  const found: LoggedRequest[] = []
  for (let before: string | undefined; found.length < limit; ) {
    const together = minCost > 0 ? pageRows : Math.min(limit - found.length, pageRows)
    const page = await storage.journal.list({ ...match, limit: together, ...(before !== undefined && { before }) })
    found.push(...page.filter(one => costs(one, minCost)))
    before = page.at(-1)?.row.id
    if (before === undefined || page.length < together) break
  }
  return found.slice(0, limit)
}

function costs({ charge, use }: LoggedRequest, minCost: number): boolean {
  const settled = [charge, use].flatMap(one => (one?.state === 'settled' ? one.amount : []))
  return minCost === 0 || (settled.length > 0 && settled.reduce((sum, amount) => sum + amount, 0) >= minCost)
}

/** Prints new rows until Ctrl-C. It survives a restart of the gateway and a temporary loss of the database. */
async function follow(
  storage: Storage,
  { match, minCost }: LogOptions,
  known: readonly string[],
  write: (some: readonly LoggedRequest[]) => void,
): Promise<void> {
  const left = new AbortController()
  const leave = (): void => left.abort()
  process.once('SIGINT', leave).once('SIGTERM', leave)
  let isAway = false
  const options = {
    clock: systemClock,
    left: left.signal,
    known,
    onFault(error: unknown) {
      if (!isAway) say(`the storage does not respond; retrying every second: ${String(error)}`)
      isAway = true
    },
  }
  try {
    for await (const some of followLog(storage.journal, match, options)) {
      if (some.length > 0) isAway = false
      write(some.filter(one => costs(one, minCost)))
    }
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave)
  }
}

/** Returns a function that writes records in a format; the table head is written once. */
function printer(format: string, zone: string, isFollowing: boolean): (records: readonly LogRecord[]) => void {
  let isBegun = false
  const begin = (): boolean => !isBegun && (isBegun = true)
  if (format === 'json') return records => records.forEach(record => print(JSON.stringify(record)))
  if (format === 'csv')
    return records => {
      if (begin()) print(csvLine(columns.map(([name]) => name)))
      for (const record of records) print(csvLine(columns.map(([, read]) => read(record))))
    }
  if (format === 'text') return records => records.forEach(record => print(formatLine(record)))
  const headings = [`TIME (${zone})`, 'ID', 'STATUS', 'OUTCOME', 'MODEL', 'USER', 'KEY', 'MS', 'COST']
  return records => {
    const rows = records.map(record => rowOf(record, zone).map(safeLine))
    if (!isFollowing) {
      if (rows.length > 0) print(formatTable(headings, rows))
      return
    }
    // Later rows are unknown, so columns have their usual widths.
    if (begin()) print(formatRow(headings, followWidths))
    for (const row of rows) print(formatRow(row, followWidths))
  }
}

const followWidths = [25, 24, 6, 12, 24, 12, 24, 7]

function rowOf(record: LogRecord, zone: string): readonly string[] {
  const { billing } = record
  return [
    formatIn(zone, Date.parse(record.time)),
    record.id,
    String(record.status ?? '-'),
    record.outcome,
    record.model ?? record.operation,
    record.user ?? '-',
    record.key_id ?? '-',
    String(record.duration_ms),
    [billing, record.use_billing].flatMap(one => (one ? formatCost(one) : [])).join(' + ') || '-',
  ]
}

function formatCost(billing: BillingRecord): string {
  const notes = notesOf(billing).filter(note => note !== 'settled')
  return `${billing.amount} ${billing.currency}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`
}

/** The state of a charge, and what is held and refunded of it. */
function notesOf({ state, held, refunded }: BillingRecord): readonly string[] {
  return [state, ...(held === '0.00' ? [] : [`${held} held`]), ...(refunded === '0.00' ? [] : [`${refunded} refunded`])]
}

type Cell = string | number | null | undefined

const columns: readonly (readonly [name: string, read: (record: LogRecord) => Cell])[] = [
  ['time', record => record.time],
  ['id', record => record.id],
  ['status', record => record.status],
  ['outcome', record => record.outcome],
  ['error', record => record.error],
  ['operation', record => record.operation],
  ['model', record => record.model],
  ['user', record => record.user],
  ['group', record => record.group],
  ['key_id', record => record.key_id],
  ['upstream', record => record.upstream],
  ['duration_ms', record => record.duration_ms],
  ['input_tokens', record => record.usage.input_tokens],
  ['output_tokens', record => record.usage.output_tokens],
  ['state', record => record.billing?.state],
  ['amount', record => record.billing?.amount],
  ['refunded', record => record.billing?.refunded],
  ['currency', record => record.billing?.currency],
  ['text', record => record.billing?.text],
  ['counts', record => record.billing && countsCell(record.billing)],
  ...factNames.map(name => [name, (record: LogRecord) => record.billing?.facts[name]] as const),
  ['end_user', record => record.end_user],
  ['tags', record => csvNames(record.tags)],
  ['cache', record => record.cache],
  ['saved', record => record.saved],
  ['alias', record => record.alias],
  ['use_amount', record => record.use_billing?.amount],
  ['use_refunded', record => record.use_billing?.refunded],
]

/** Shows a request, by its id or that of its second charge. */
export async function showLog(
  id: string,
  options: { readonly config: string; readonly format: string },
): Promise<void> {
  await withStorage(options.config, async (storage, { plugins }) => {
    const [found] = await storage.journal.list({ limit: 1, id: requestOfCharge(id) })
    if (!found) throw new Exit(exitCodes.failure, `there is no request '${id}' in the log`)
    const record = logRecord(found, plugins.known)
    if (options.format === 'json') return print(JSON.stringify(record))
    const refunds = [await formatRefunds(storage, found.charge), await formatRefunds(storage, found.use)]
    print(formatDetails(record, refunds))
  })
}

/** The refunds of a charge, oldest first: amount, person and reason. */
async function formatRefunds(storage: Storage, charge: LoggedRequest['use']): Promise<readonly string[]> {
  const refunds = charge && charge.refunded > 0 ? await storage.books.refundsOf(charge.id) : []
  return refunds.map(
    ({ amount, at, by, reason }) =>
      `refund     ${formatMoney(amount)} ${charge?.currency} at ${new Date(at).toISOString()} by ${by}${reason === null ? '' : `: ${reason}`}`,
  )
}

function formatLine(record: LogRecord): string {
  const bills = [record.billing, record.use_billing].flatMap(one => one ?? [])
  const bill = bills
    .map(one => `  ${one.amount} ${one.currency} (${notesOf(one).join(', ')})  ${describeUse(one)}`)
    .join('')
  return safeLine(
    `${record.time}  ${record.id}  ${record.status ?? '-'} ${record.outcome}  ${record.model ?? record.operation}${record.alias === null ? '' : ` (as ${record.alias})`}  ${record.duration_ms} ms${bill}`,
  )
}

function formatDetails(record: LogRecord, [refunds = [], useRefunds = []]: readonly (readonly string[])[]): string {
  const lines = [
    `request    ${record.id} at ${record.time}`,
    `outcome    ${record.outcome}, status ${record.status ?? '-'}${record.error ? ` (${record.error})` : ''}, ${record.duration_ms} ms`,
    ...formatError(record),
    `client     key ${record.key_id ?? '-'}, user ${record.user ?? '-'}, group ${record.group ?? '-'}`,
    `model      ${record.model ?? '-'} (${record.operation}) at upstream ${record.upstream ?? '-'}, configuration ${record.config_revision}`,
    ...formatAttempts(record),
    ...(record.cache ? [`cache      ${record.cache}${record.saved === null ? '' : `, ${record.saved} saved`}`] : []),
    `forwarded  ${record.forwarded.join(' ') || '-'}`,
    `dropped    ${record.dropped.join(' ') || '-'}`,
  ]
  const phases = formatPhases(record)
  if (phases.length > 0) lines.push('', ...phases)
  lines.push('', ...(record.billing ? formatBill(record.billing) : ['charged    nothing; the request has no charge']))
  lines.push(...refunds)
  if (record.use_billing) lines.push('', ...formatBill(record.use_billing), ...useRefunds)
  return lines.map(safeLine).join('\n')
}

/** The request's attempts at upstreams, if there were several. */
function formatAttempts({ attempts }: LogRecord): readonly string[] {
  const all = attempts ?? []
  return all.map(({ upstream, key, model, answer, ms }, i) => {
    const at = model === undefined ? upstream : `${model} at ${upstream}`
    const by = key === null ? at : `${at} with key ${key}`
    return `${i === 0 ? 'attempts ' : '         '}  ${by}: ${answer} after ${ms} ms`
  })
}

/** The fields of the request's error, and the upstream's message. */
function formatError({ error_values: values, upstream_said: message }: LogRecord): readonly string[] {
  const all = Object.entries(values ?? {}).flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]))
  return [
    ...(all.length > 0 ? [`why        ${all.join(', ')}`] : []),
    ...(message === null ? [] : [`upstream   ${message}`]),
  ]
}

/** The name of a phase, and its share of the line for the whole request. */
const phaseWords: { readonly [name in Phase['name']]: string } = {
  body: 'request body',
  place: 'checks, limits, hold',
  retries: 'earlier attempts',
  upstream: 'first byte from upstream',
  passing: 'sending to client',
  commit: 'commit',
  end: 'end',
}
const barChars = 40

/** The phases of the request, each at its position in the whole. */
function formatPhases(record: LogRecord): readonly string[] {
  const all = Math.max(record.duration_ms, 1)
  return phasesOf(record).map(({ name, from, ms }) => {
    const start = Math.min(Math.floor((from / all) * barChars), barChars - 1)
    const bar = '#'.repeat(Math.max(Math.min(Math.round((ms / all) * barChars), barChars - start), 1))
    const shown = `${' '.repeat(start)}${bar}`.padEnd(barChars)
    return `${phaseWords[name].padEnd(22)}  ${shown}  ${String(ms).padStart(6)} ms`
  })
}

/**
 * Images: the line with six labels, which are the same in every language. Counted usage: for example `input 12, output
 * 34`.
 */
function describeUse({ text, rule, lines }: BillingRecord): string {
  if (rule.kind !== 'usage' || lines.length === 0) return text
  return lines.map(({ tier, quantity }) => `${tier.replaceAll('_', ' ')} ${quantity ?? 0}`).join(', ')
}

/** The factors in the lines by their names: those of the group and of conditions. */
function factorsOf({ rule, lines }: BillingRecord): readonly string[] {
  const isPlain = rule.kind === 'tiers' || rule.multiplier === '' || rule.multiplier === 'group multiplier ×1'
  return isPlain || lines.length === 0 ? [] : [`factors    ${rule.multiplier}`]
}

/** Formats a charge for people: the line with six labels, then the reason. Token lines name their own factors. */
export function formatBill(billing: BillingRecord): readonly string[] {
  const [plainState, ...notes] = notesOf(billing)
  const state = billing.reason ? `${plainState} (${billing.reason})` : plainState
  const plain = billing.rule.kind === 'tiers' ? '; no group multiplier applies' : ''
  const isRounded = billing.rule.kind === 'usage' && billing.lines.some(({ why }) => / = [\d.]+$/.test(why))
  const facts = Object.entries(billing.facts)
    .map(entry => entry.join(' '))
    .join(', ')
  return [
    describeUse(billing),
    ...billing.lines.map(
      line =>
        `  #${line.index}  ${line.why}  →  ${line.price} ${billing.currency}${line.at ? `  (${line.at})` : ''}${line.flags.length > 0 ? `  [${line.flags.join(', ')}]` : ''}`,
    ),
    ...(facts === '' ? [] : [`facts      ${facts}`]),
    ...factorsOf(billing),
    `charged    ${billing.amount} ${billing.currency}, ${[state, ...notes].join(', ')}${plain}`,
    ...(isRounded
      ? ['note       the items are rounded together to 0.000001, with the remainder of earlier charges of the key']
      : []),
    ...billing.warnings.map(warning => `note       ${warning}`),
  ]
}
