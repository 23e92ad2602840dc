import type { Anchor, LogRow, OtlpConfig } from '../../domain/index.ts'
import type { RequestContext } from '../../plugin-api/index.ts'
import type { Random } from '../../util/index.ts'
import { findOperation } from '../../operations/index.ts'
import { attributes, type Attributes, nanos, type Span } from './encode.ts'

const internal = 1
const server = 2
const client = 3
const failed = 2
const parentText = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const nothing = /^0+$/

type Attempt = {
  readonly spanId: string
  readonly upstream: string
  readonly startedAt: number
  status?: number | null
  endedAt?: number
}

type Trace = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly sampled: boolean
  readonly attempts: Attempt[]
}

/** The cost of an ended request in micro-units of the currency. */
export type Cost = { readonly amount: number; readonly currency: string }

/** The traces of running requests (W3C Trace Context; GenAI semantic conventions). */
export class Tracer {
  readonly #traces = new WeakMap<RequestContext, Trace>()
  readonly #config: OtlpConfig
  readonly #random: Random

  constructor(config: OtlpConfig, random: Random) {
    this.#random = random
    this.#config = config
  }

  /** Before a request to an upstream. @returns its trace headers, if the operator has enabled them */
  began(context: RequestContext, upstream: string, now: number): { readonly [name: string]: string } {
    const trace = this.#traceOf(context)
    const spanId = this.#random.bytes(8).toString('hex')
    trace.attempts.push({ spanId, upstream, startedAt: now })
    return this.#config.forwardTraceparent
      ? { traceparent: `00-${trace.traceId}-${spanId}-${trace.sampled ? '01' : '00'}` }
      : {}
  }

  /** The head of its response has arrived (status), or will not arrive (null). */
  answered(context: RequestContext, status: number | null, now: number): void {
    const attempt = this.#traceOf(context).attempts.at(-1)
    if (attempt) Object.assign(attempt, { status, endedAt: now })
  }

  /** The spans of an ended request: its own, and one for each called upstream. None for an unsampled trace. */
  ended(row: LogRow, context: RequestContext, cost?: Cost): readonly Span[] {
    const trace = this.#traceOf(context)
    if (!trace.sampled) return []
    const endedAt = row.time + row.durationMs
    const operation = operationName(row.operation)
    const shared = { 'gen_ai.operation.name': operation, 'gen_ai.request.model': row.model }
    const answer = answerAttributes(row, context)
    const name = row.model === null ? operation : `${operation} ${row.model}`
    const own = toSpan(trace, {
      spanId: trace.spanId,
      parentSpanId: trace.parentSpanId,
      name,
      kind: server,
      from: row.time,
      to: endedAt,
      error: row.outcome === 'answered' && (row.status ?? 0) < 500 ? undefined : (row.errorCode ?? row.outcome),
      facts: {
        ...shared,
        ...answer,
        ...upstreamAttributes(context, row.upstream),
        ...this.#ownAttributes(row, cost),
        'http.request.method': context.head.method,
        'http.route': context.route.path,
        'http.response.status_code': row.status,
        'tollgate.request.id': row.id,
        'tollgate.outcome': row.outcome,
      },
    })
    const attemptSpans = trace.attempts.map((attempt, i) =>
      toSpan(trace, {
        spanId: attempt.spanId,
        parentSpanId: trace.spanId,
        name,
        kind: client,
        from: attempt.startedAt,
        // The last upstream's response is read until the request ends; those of the others only up to their heads.
        to: i === trace.attempts.length - 1 ? endedAt : (attempt.endedAt ?? endedAt),
        error: errorOf(attempt),
        facts: {
          ...shared,
          ...(i === trace.attempts.length - 1 && answer),
          ...upstreamAttributes(context, attempt.upstream),
          'http.response.status_code': attempt.status,
        },
      }),
    )
    return [own, ...attemptSpans]
  }

  /** Facts of the client and the bill that the operator has enabled. */
  #ownAttributes(row: LogRow, cost: Cost | undefined): Attributes {
    const { attributes: wanted } = this.#config
    return {
      ...(wanted.has('user') && { 'user.id': row.user }),
      ...(wanted.has('key') && { 'tollgate.key.id': row.keyId }),
      ...(wanted.has('group') && { 'tollgate.group': row.group }),
      ...(wanted.has('cost') &&
        cost && { 'gen_ai.usage.cost': cost.amount / 1_000_000, 'tollgate.cost.currency': cost.currency }),
    }
  }

  #traceOf(context: RequestContext): Trace {
    const known = this.#traces.get(context)
    if (known) return known
    const [, traceId, parentSpanId, flags = '01'] = parentText.exec(String(context.head.headers['traceparent'])) ?? []
    const isSound =
      traceId !== undefined && parentSpanId !== undefined && !nothing.test(traceId) && !nothing.test(parentSpanId)
    const trace: Trace = {
      traceId: isSound ? traceId : this.#random.bytes(16).toString('hex'),
      spanId: this.#random.bytes(8).toString('hex'),
      parentSpanId: isSound ? parentSpanId : undefined,
      sampled: !isSound || (Number.parseInt(flags, 16) & 1) === 1,
      attempts: [],
    }
    this.#traces.set(context, trace)
    return trace
  }
}

/** The address of the upstream; its name is known only to this gateway. */
export function upstreamAttributes({ plan }: RequestContext, upstream: string | null): Attributes {
  const known = upstream === null ? undefined : plan.upstreams.get(upstream)
  return {
    'gen_ai.provider.name': known?.provider ?? upstream,
    ...(known && serverOf(known.url)),
    'tollgate.upstream': upstream,
  }
}

/** Nothing for a simulated upstream. */
function serverOf(url: string): Attributes {
  const { hostname, port, protocol } = new URL(url)
  if (hostname === '') return {}
  return {
    'server.address': hostname.replace(/^\[|\]$/g, ''),
    'server.port': port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
  }
}

function answerAttributes({ inputTokens, outputTokens }: LogRow, { notes }: RequestContext): Attributes {
  const { model, finishReasons = [], counts = {} } = notes.answer ?? {}
  return {
    'gen_ai.response.model': model,
    'gen_ai.response.finish_reasons': finishReasons.length > 0 ? finishReasons : undefined,
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': counts.cached_input,
    'gen_ai.usage.cache_creation.input_tokens': counts.cache_write,
    'gen_ai.usage.reasoning.output_tokens': counts.reasoning,
  }
}

/** The last links of the ledger's chains, as a trace: it is stored wherever traces are stored. */
export function anchorSpan({ time, database, chains }: Anchor, now: number, random: Random): Span {
  const [traceId, spanId] = [random.bytes(16).toString('hex'), random.bytes(8).toString('hex')]
  const trace = { traceId, spanId, parentSpanId: undefined, sampled: true, attempts: [] }
  return toSpan(trace, {
    spanId: trace.spanId,
    parentSpanId: undefined,
    name: 'ledger anchor',
    kind: internal,
    from: now,
    to: now,
    error: undefined,
    facts: { 'tollgate.ledger.anchor': JSON.stringify({ time, database, chains }) },
  })
}

/** The conventions' name of an operation; its own name if they have none. */
export function operationName(operation: string): string {
  return findOperation(operation)?.otel ?? operation
}

function errorOf({ status }: Attempt): string | undefined {
  if (status === null) return 'no_answer'
  return status !== undefined && status >= 400 ? String(status) : undefined
}

type Draft = {
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: number
  readonly from: number
  readonly to: number
  readonly error: string | undefined
  readonly facts: Attributes
}

function toSpan({ traceId }: Trace, { spanId, parentSpanId, name, kind, from, to, error, facts }: Draft): Span {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind,
    startTimeUnixNano: nanos(from),
    endTimeUnixNano: nanos(Math.max(from, to)),
    attributes: attributes({ ...facts, 'error.type': error }),
    status: error === undefined ? {} : { code: failed },
  }
}
