import { LRUCache } from 'lru-cache'
import { type Anchor, type EndedCharge, type LogRow, type OtlpConfig, seriesName } from '../../domain/index.ts'
import { type Log, type RequestContext, useChargeId } from '../../plugin-api/index.ts'
import type { Clock, Pending, Random } from '../../util/index.ts'
import { gaugeSnapshot, type Snapshot, histograms } from '../tally.ts'
import { attributes, encodeSpread, type Span } from './encode.ts'
import { Sender } from './sender.ts'
import { anchorSpan, type Cost, operationName, Tracer, upstreamAttributes } from './tracer.ts'

const spansMax = 4_096
const batchSpans = 512
/** The longest wait for the receiver when telemetry closes. */
const closeMs = 3_000
// Bounds that the conventions advise: tokens, and seconds.
const tokenBounds = Array.from({ length: 14 }, (_, i) => 4 ** i)
const firstTokenBounds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const seriesNames = [
  'gen_ai.operation.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'gen_ai.provider.name',
  'server.address',
  'server.port',
]
const secondBounds = Array.from({ length: 14 }, (_, i) => 0.01 * 2 ** i)
/** The version of the conventions whose names are used. */
const schemaUrl = 'https://opentelemetry.io/schemas/1.40.0'
const scope = { name: 'tollgate' }
/** The maximum of charges that wait for the end of their requests; a job's request has ended before. */
const costsMax = 10_000

/** Sends traces and GenAI metrics by OTLP. No request waits for it: excess data is dropped and counted. */
export class Telemetry {
  readonly #plan: OtlpConfig
  readonly #clock: Clock
  readonly #random: Random
  readonly #sender: Sender
  readonly #tracer: Tracer
  readonly #resource: object
  readonly #startedAt: number
  readonly #tokens = histograms(
    'gen_ai.client.token.usage',
    'Tokens that were used.',
    [...seriesNames, 'gen_ai.token.type'],
    tokenBounds,
  )
  readonly #seconds = histograms(
    'gen_ai.server.request.duration',
    'How long requests took.',
    [...seriesNames, 'error.type'],
    secondBounds,
  )
  readonly #firstToken = histograms(
    'gen_ai.server.time_to_first_token',
    'From the request to the first byte of a streamed answer.',
    seriesNames,
    firstTokenBounds,
  )
  readonly #costs = new LRUCache<string, Cost>({ max: costsMax })
  readonly #flushes: Pending
  #spans: Span[] = []
  #exported = 0
  #dropped = 0
  #flushing: Promise<void> | undefined

  constructor(
    plan: OtlpConfig,
    {
      clock,
      random,
      log,
      version,
    }: { readonly clock: Clock; readonly random: Random; readonly log: Log; readonly version: string },
  ) {
    this.#plan = plan
    this.#clock = clock
    this.#random = random
    this.#startedAt = clock.now()
    this.#sender = new Sender(plan.endpoint, plan.headers, { clock, log })
    this.#tracer = new Tracer(plan, random)
    this.#resource = {
      attributes: attributes({
        'service.name': 'tollgate',
        'service.version': version,
        'service.instance.id': random.bytes(16).toString('hex'),
        'process.pid': process.pid,
      }),
    }
    this.#flushes = clock.every(plan.everyMs, () => void this.flush())
  }

  /** Before a request to an upstream. @returns its trace headers */
  began(context: RequestContext, upstream: string): { readonly [name: string]: string } {
    return this.#tracer.began(context, upstream, this.#clock.now())
  }

  /** The head of its response has arrived (status), or will not arrive (null). */
  answered(context: RequestContext, status: number | null): void {
    this.#tracer.answered(context, status, this.#clock.now())
  }

  /** A charge has ended: a request that ends later reports its cost. */
  charged({ id, amount, currency, state }: EndedCharge): void {
    if (state !== 'settled' || !this.#plan.attributes.has('cost')) return
    this.#costs.set(id, { amount, currency })
  }

  /** A request has ended. */
  ended(row: LogRow, context: RequestContext): void {
    if (this.#plan.metrics) this.#measure(row, context)
    if (!this.#plan.traces) return
    const cost = this.#costOf(row.id)
    const spans = this.#tracer.ended(row, context, cost)
    if (this.#spans.length + spans.length > spansMax) this.#dropped += spans.length
    else this.#spans.push(...spans)
    if (this.#spans.length >= batchSpans) void this.flush()
  }

  /** The state of the ledger, as a trace. */
  anchored(anchor: Anchor): void {
    if (!this.#plan.traces || this.#spans.length >= spansMax) return
    this.#spans.push(anchorSpan(anchor, this.#clock.now(), this.#random))
  }

  /** Sends the collected data, unless it is already sending. */
  flush(): Promise<void> {
    this.#flushing ??= this.#send().finally(() => {
      this.#flushing = undefined
    })
    return this.#flushing
  }

  snapshots(): readonly Snapshot[] {
    const counted = (name: string, help: string, value: number): Snapshot => ({
      ...gaugeSnapshot(name, help, value),
      type: 'counter',
    })
    return [
      counted('tollgate_otlp_spans_total', 'Spans accepted by a receiver.', this.#exported),
      counted(
        'tollgate_otlp_spans_dropped_total',
        'Spans that were not accepted or did not fit in the queue.',
        this.#dropped,
      ),
      counted('tollgate_otlp_failures_total', 'Failed exports.', this.#sender.failures),
    ]
  }

  async close(): Promise<void> {
    this.#flushes.cancel()
    const last = (this.#flushing ?? Promise.resolve()).then(() => this.flush())
    await Promise.race([last, new Promise<void>(resolve => this.#clock.after(closeMs, resolve))])
  }

  async #send(): Promise<void> {
    while (this.#spans.length > 0 && (await this.#sendSpans()));
    if (this.#plan.metrics) await this.#sender.send('metrics', this.#metrics())
  }

  /** @returns whether there is more to send now */
  async #sendSpans(): Promise<boolean> {
    const batch = this.#spans.splice(0, batchSpans)
    const scopeSpans = [{ scope, spans: batch, schemaUrl }]
    const body = { resourceSpans: [{ resource: this.#resource, scopeSpans, schemaUrl }] }
    const outcome = await this.#sender.send('traces', body)
    if (outcome === 'sent') this.#exported += batch.length
    else if (outcome === 'again' && this.#spans.length + batch.length <= spansMax) this.#spans.unshift(...batch)
    else this.#dropped += batch.length
    return outcome !== 'again'
  }

  #metrics(): object {
    const now = this.#clock.now()
    // Receivers refuse a series that begins after its end, which a clock that was set back could cause.
    const from = Math.min(this.#startedAt, now)
    const metrics = [
      encodeSpread(this.#tokens, '{token}', from, now),
      encodeSpread(this.#seconds, 's', from, now),
      encodeSpread(this.#firstToken, 's', from, now),
    ]
    return {
      resourceMetrics: [{ resource: this.#resource, scopeMetrics: [{ scope, metrics, schemaUrl }], schemaUrl }],
    }
  }

  /** A request may have two charges: for images, and for tokens. */
  #costOf(requestId: string): Cost | undefined {
    const ids = [requestId, useChargeId(requestId)]
    const costs = ids.map(id => this.#costs.get(id)).filter(cost => cost !== undefined)
    for (const id of ids) this.#costs.delete(id)
    const [first] = costs
    return first && { amount: costs.reduce((sum, { amount }) => sum + amount, 0), currency: first.currency }
  }

  #measure(row: LogRow, context: RequestContext): void {
    const upstream = upstreamAttributes(context, row.upstream)
    const text = (name: string): string => String(upstream[name] ?? '')
    const { answer } = context.notes
    const model = row.model === null ? '' : seriesName(context.plan, row.model)
    const series = [
      operationName(row.operation),
      model,
      // Upstreams return the requested name.
      model === (row.model ?? '') ? (answer?.model ?? '') : model,
      text('gen_ai.provider.name'),
      text('server.address'),
      text('server.port'),
    ] as const
    const isError = row.outcome !== 'answered' || (row.status ?? 0) >= 400
    this.#seconds
      .at(...series, isError ? (row.errorCode ?? String(row.status ?? row.outcome)) : '')
      .add(row.durationMs / 1000)
    if (row.inputTokens !== null) this.#tokens.at(...series, 'input').add(row.inputTokens)
    if (row.outputTokens !== null) this.#tokens.at(...series, 'output').add(row.outputTokens)
    const firstByte = row.marks?.firstByte
    if (answer?.isStream && !isError && typeof firstByte === 'number')
      this.#firstToken.at(...series).add(firstByte / 1000)
  }
}
