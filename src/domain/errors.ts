import { brand } from '../util/brand.ts'

/**
 * One row of an error table. The row's name is the wire `code` and is never renamed.
 * `text` describes the fault and the remedy; `{name}` is replaced by a parameter of `fail`.
 */
export type ErrorRow = {
  readonly status: number
  /** The `type` of the chat-completions style; other API formats derive theirs from the status. */
  readonly type: string
  /** The request field that caused the error, if there is one. */
  readonly param?: string
  readonly text: string
  /** Whether SDKs that honour `x-should-retry` may retry; absent: the SDK's own rule applies. */
  readonly retry?: boolean
  /** The operator's remedy: for docs/errors.md, never in a response. */
  readonly operator?: string
}

export type ErrorTable = { readonly [code: string]: ErrorRow }

type ParamNames<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never
type Params<Text extends string> = { readonly [Name in ParamNames<Text>]: string | number }

export type FailExtra = {
  readonly cause?: unknown
  /** Milliseconds until the same request can succeed; becomes Retry-After. */
  readonly retryAfterMs?: number
  readonly param?: string
  /** Replaces the row's text. */
  readonly type?: string
  readonly headers?: { readonly [name: string]: string }
  /** Data for the log, if it contains more than the parameters of the text. */
  readonly values?: FailureValues
  /** Thrown at `onForward`: another upstream may take the request, so the next is tried. */
  readonly elsewhere?: boolean
}

/** The values of an error by name: for the log, and for the console's text in the reader's language. */
export type FailureValues = { readonly [name: string]: string | number | null }

/** A refusal that the client will receive. Thrown by hooks and by the engine; rendered in the client's API format. */
export class Failure extends Error {
  readonly code: string
  readonly status: number
  readonly type: string
  readonly param: string | null
  readonly retry: boolean | undefined
  readonly retryAfterMs: number | undefined
  readonly headers: { readonly [name: string]: string }
  readonly elsewhere: boolean
  values: FailureValues

  static {
    brand(this, 'Failure')
  }

  constructor(code: string, row: ErrorRow, message: string, extra: FailExtra = {}) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause })
    this.name = 'Failure'
    this.code = code
    this.status = row.status
    this.type = extra.type ?? row.type
    this.param = extra.param ?? row.param ?? null
    this.retry = row.retry
    this.retryAfterMs = extra.retryAfterMs
    this.headers = extra.headers ?? {}
    this.elsewhere = extra.elsewhere ?? false
    this.values = extra.values ?? noValues
  }
}

const noValues: FailureValues = {}

/**
 * Rows that several tables contain, because several parts have the same error. Every other code is in only one table.
 */
export const sharedRows = {
  models_not_together: {
    status: 400,
    type: 'invalid_request_error',
    text: "'{model}' cannot be combined with '{other}': both must run on the same upstream and be charged in the same way. Remove one of them.",
    retry: false,
  },
  storage_unavailable: {
    status: 503,
    type: 'service_unavailable_error',
    text: 'The storage of keys and charges is not available. Nothing was sent upstream and nothing is billed. Try again shortly.',
    operator:
      'Check that the database runs and the disk has space: `tollgate doctor` tests `storage`. The log has the reason.',
  },
  insufficient_quota: {
    status: 402,
    type: 'insufficient_quota',
    text: 'This request may cost up to {hold} {currency}, but {whose} has {available} {currency} left{held}{renewal}. Send a smaller request, or ask the operator of the gateway to raise it.',
    retry: false,
    operator: '`tollgate budgets` lists what is left. Raise the budget, or top up the balance.',
  },
} as const satisfies ErrorTable

/** Makes a Failure of one row. The parameters are those in the row's text. */
export type Fail<Table extends ErrorTable> = <Code extends keyof Table & string>(
  code: Code,
  ...rest: [ParamNames<Table[Code]['text']>] extends [never]
    ? [params?: Record<string, never>, extra?: FailExtra]
    : [params: Params<Table[Code]['text']>, extra?: FailExtra]
) => Failure

/** Makes the `fail` function of a table: `throw fail('model_not_found', { model })`. */
export function failures<const Table extends ErrorTable>(table: Table): Fail<Table> {
  const texts = new Map(Object.entries(table).map(([code, row]) => [code, row.text.split(placeholder)]))
  return function fail(code, ...rest) {
    const row = table[code] as ErrorRow
    const message = fillText(texts.get(code) as readonly string[], rest[0] ?? {})
    const extra = rest[1]
    const params = rest[0]
    return withoutStack(
      () => new Failure(code, row, message, extra?.values || !params ? extra : { ...extra, values: params }),
    )
  }
}

const placeholder = /\{(\w+)\}/

/** A text split at its placeholders: every second piece is the name of a placeholder. */
function fillText(pieces: readonly string[], params: { readonly [name: string]: string | number }): string {
  let text = pieces[0] ?? ''
  for (let i = 1; i < pieces.length; i += 2) {
    const name = pieces[i] as string
    text += String(params[name] ?? `{${name}}`) + (pieces[i + 1] as string)
  }
  return text
}

/** No stack trace: the code identifies the place of a refusal, and a stack trace would double its cost. */
function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
