import { isatty } from 'node:tty'
import { pino } from 'pino'
import type { LogRow } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import { type Clock, type Pending, systemClock } from '../util/index.ts'
import { formatForPeople } from './pretty.ts'
import { escapeUnruly, Scrubber } from './scrub.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export type LogOptions = {
  readonly level: LogLevel
  /** One readable line instead of JSON; by default if stderr is a terminal. */
  readonly pretty?: boolean
  /** The receiver of the lines; by default standard error, because standard output is for data. */
  readonly destination?: { write(line: string): void }
  /** Values that must not be written, such as upstream credentials. */
  readonly secrets?: Iterable<string>
  /** The system's by default. */
  readonly clock?: Pick<Clock, 'now' | 'after'>
}

/** The gateway's log. Nothing secret, no live control character and no string over 2 KiB leaves it. */
export type GatewayLog = Log & {
  /** One line for a finished request. */
  request(row: LogRow): void
  /** More values that must not be written: after a reload, or a new key. */
  hide(secrets: Iterable<string>): void
  /** Resolves when all lines so far were passed to the operating system, or could not be. */
  flush(): Promise<void>
}

const textCharsMax = 2048
const depthMax = 6
const lineBytesBuffered = 16_000
const rowsTogether = 64
const rowsWaitMs = 100
const flushEveryMs = 1000
/** Lines that wait while standard error cannot be written; further ones are dropped. */
const waitingBytesMax = 32 * 1_048_576

/** Opens the log. Without a terminal it is buffered: lines reach the file within a second, and at exit. */
export function createLog(options: LogOptions): GatewayLog {
  const pretty = options.pretty ?? isatty(2)
  const clock = options.clock ?? systemClock
  const scrubber = new Scrubber()
  scrubber.hide(options.secrets ?? [])
  const out = options.destination ? undefined : openStderr(pretty)
  const target = options.destination ?? out ?? process.stderr
  const destination = pretty
    ? { write: (line: string) => void target.write(formatForPeople(line, options.destination === undefined)) }
    : target
  const clean = (line: string): string => escapeUnruly(scrubber.scrub(line))
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":${clock.now()}`,
      formatters: { log: facts => clip(facts, scrubber, 0) as { [name: string]: unknown } },
      hooks: {
        logMethod(args, method) {
          method.apply(this, args.map(arg => (typeof arg === 'string' ? clipText(arg, scrubber) : arg)) as typeof args)
        },
        streamWrite: clean,
      },
    },
    destination,
  )
  if (out)
    outliveFaults(out, dropped => logger.error({ lines: dropped }, 'the log could not be written; lines are missing'))
  // Log rows of requests have the time of their request, which pino's own timestamp would replace.
  const lines: string[] = []
  const requests = pino(
    { level: options.level, base: null, timestamp: false },
    { write: (line: string) => void lines.push(line) },
  )
  const takesRows = requests.isLevelEnabled('info')
  // Without a terminal, rows are written in groups: a single row finds cold caches and costs three times as much.
  let waiting: LogRow[] = []
  let timer: Pending | undefined
  const writeRows = (): void => {
    timer?.cancel()
    timer = undefined
    const rows = waiting
    waiting = []
    for (const row of rows)
      requests.info({ time: row.time + row.durationMs, ...requestFacts(row, scrubber) }, 'request')
    const texts = lines.splice(0)
    // As one text: the writer of a file counts the bytes of its whole buffer for each text.
    if (out !== undefined && !pretty) out.write(clean(texts.join('')))
    else for (const text of texts) destination.write(clean(text))
  }
  const addRow = (row: LogRow): void => {
    waiting.push(row)
    if (waiting.length >= rowsTogether || out === undefined || pretty) writeRows()
    else timer ??= clock.after(rowsWaitMs, writeRows)
  }
  return {
    debug: (facts, text) => logger.debug(facts, text),
    info: (facts, text) => logger.info(facts, text),
    warn: (facts, text) => logger.warn(facts, text),
    error: (facts, text) => logger.error(facts, text),
    request: row => (takesRows ? addRow(row) : undefined),
    hide: secrets => scrubber.hide(secrets),
    flush: () =>
      new Promise(resolve => {
        writeRows()
        if (out === undefined) return resolve()
        out.flush(() => resolve())
      }),
  }
}

function openStderr(watched: boolean) {
  if (watched) return pino.destination({ dest: 2, sync: true })
  return pino.destination({
    dest: 2,
    sync: false,
    minLength: lineBytesBuffered,
    maxLength: waitingBytesMax,
    periodicFlush: flushEveryMs,
  })
}

/** Continues without a log while it cannot be written, as on a full disk. Each flush tries again. */
function outliveFaults(out: ReturnType<typeof openStderr>, onDropped: (lines: number) => void): void {
  let isFaulty = false
  let dropped = 0
  out.on('error', () => (isFaulty = true))
  out.on('drop', (text: string) => (dropped += text.split('\n').length - 1))
  out.on('write', () => {
    isFaulty = false
    const lines = dropped
    dropped = 0
    if (lines > 0) onDropped(lines)
  })
  const flushSync = out.flushSync.bind(out)
  // It would try for ever, and the process would not end.
  out.flushSync = () => (isFaulty ? undefined : flushSync())
}

/** The fields of the log record without its charge, by the record's names; unknown ones are left out. */
export function requestFacts(row: LogRow, scrubber: Scrubber): object {
  return {
    id: row.id,
    key_id: row.keyId ?? undefined,
    user: row.user ?? undefined,
    group: row.group ?? undefined,
    model: row.model ?? undefined,
    operation: row.operation,
    status: row.status ?? undefined,
    outcome: row.outcome,
    error: row.errorCode ?? undefined,
    duration_ms: Math.round(row.durationMs),
    upstream: row.upstream ?? undefined,
    config_revision: row.configRevision,
    forwarded: namesText(row.forwarded, scrubber),
    dropped: namesText(row.dropped, scrubber),
    client_request_id: row.clientRequestId?.slice(0, 256),
    input_tokens: row.inputTokens ?? undefined,
    output_tokens: row.outputTokens ?? undefined,
  }
}

/** Names that the client chose, in one short string; undefined without any. */
function namesText(names: readonly string[], scrubber: Scrubber): string | undefined {
  return names.length === 0 ? undefined : clipText(names.join(' '), scrubber)
}

/** The value with long strings cut; the same object if there are none. */
export function clip(value: unknown, scrubber: Scrubber, depth: number): unknown {
  if (typeof value === 'string') return clipText(value, scrubber)
  if (typeof value !== 'object' || value === null) return value
  if (depth > depthMax) return '[deeper]'
  if (value instanceof Error) return clip(errorFacts(value), scrubber, depth + 1)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) return value.slice(0, 100).map(one => clip(one, scrubber, depth + 1))
  let copy: { [name: string]: unknown } | undefined
  for (const [name, old] of Object.entries(value)) {
    const cut = clip(old, scrubber, depth + 1)
    if (cut === old) continue
    copy ??= { ...value }
    copy[name] = cut
  }
  return copy ?? value
}

function errorFacts(error: Error): object {
  const code = 'code' in error ? { code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: error.cause }
  return { type: error.name, ...code, message: error.message, stack: error.stack, ...cause }
}

/** Removes secrets before it cuts: a half secret at the cut would not be recognised. */
function clipText(text: string, scrubber: Scrubber): string {
  if (text.length <= textCharsMax) return text
  return `${scrubber.scrub(text).slice(0, textCharsMax - 24)}… [${text.length} characters]`
}
