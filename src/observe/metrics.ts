import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { type EndedCharge, type LabelKind, type LogRow, type MetricDimension, wildcardFor } from '../domain/index.ts'
import type { LimitDecision } from '../plugin-api/index.ts'
import type { Awaitable } from '../util/index.ts'
import {
  counters,
  countersSnapshot,
  gaugeSnapshot,
  histograms,
  histogramsSnapshot,
  type Count,
  type Snapshot,
  type Histogram,
} from './tally.ts'
import { MoreSeries, type SeriesBy } from './series-by.ts'

const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const commitBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const pixelsText = /^\s*(\d+)\s*[xX×]\s*(\d+)\s*$/
const delayResolutionMs = 10

/** Names that may become labels. Names that clients choose are counted as `other`. */
export type KnownNames = {
  readonly operations: Iterable<string>
  readonly models: Iterable<string>
  /** Those with a `*`, the most specific first; absent: none. */
  readonly wildcards?: readonly string[]
  readonly upstreams: Iterable<string>
  /** Dimensions with additional series; absent: none. */
  readonly by?: ReadonlySet<MetricDimension>
}

/** Read only on demand: requests in flight, held money, spooled bytes. */
export type GaugeReader = () => number

export type Metrics = {
  /** A request has begun. */
  began(): void
  /** A request without a route, or an unreadable one (then `began` is false), has ended; by its code. */
  unrouted(code: string | undefined, began: boolean): void
  /** A request has ended. Uses cached cells: about a microsecond. */
  settled(row: LogRow): void
  /** A charge has ended. */
  charged(charge: EndedCharge): void
  /** An upstream's response was not delivered in full, because its content was unknown. */
  unrecognised(model: string, upstream: string): void
  /** Results of limits for a request. */
  limited(decisions: readonly LimitDecision[]): void
  /** Kinds of labels of which a request has more than are stored. */
  folded(kinds: readonly LabelKind[]): void
  /** A change of the storage that was waited for. */
  committed(change: string, durationMs: number, committed: boolean): void
  /** An upstream's head arrived (status), or never did (null), after so many milliseconds. */
  upstreamAnswered(upstream: string, status: number | null, durationMs: number): void
  /** A request is sent again after a failure of this upstream. */
  retried(upstream: string, cause: string): void
  /** A request blocked a turn of the event loop for too long, in this step. */
  turnWasLong(step: string): void
  /** The names of a new configuration; series of the old one stay. */
  know(names: KnownNames): void
  /** A value that other code keeps. `name` without the prefix, with its unit: `bodies_memory_bytes`. */
  gauge(name: string, help: string, read: GaugeReader, aggregator?: Snapshot['aggregator']): void
  /** Metrics that other code keeps, read on demand. If a reader fails, its metrics are left out. */
  add(read: () => Awaitable<readonly Snapshot[]>): void
  /** The 99th percentile of timer delay since the last scrape, in milliseconds. */
  delayMs(): number
  /** The current value of every metric, for a process that combines several processes. */
  snapshots(): Promise<readonly Snapshot[]>
  /** The whole exposition, and its content type. Loads the exposition library on first use. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>
  close(): void
}

/** The cells that count one combination of operation, model and status class. */
type RequestCells = { readonly requests: Count; readonly seconds: Histogram }

/** The metrics that one gateway counts as events occur, in the order of the exposition. */
function createFamilies() {
  return {
    requests: counters('tollgate_requests_total', 'Completed requests.', ['operation', 'model', 'status', 'outcome']),
    refusals: counters('tollgate_refusals_total', 'Requests with an error response of the gateway, by code.', ['code']),
    tokens: counters('tollgate_tokens_total', 'Tokens that upstreams reported.', ['model', 'direction']),
    charges: counters('tollgate_charges_total', 'Closed charges, by state.', ['state']),
    amount: counters('tollgate_charged_micros_total', 'Money charged, in millionths of the currency.', [
      'model',
      'currency',
    ]),
    lines: counters('tollgate_charge_lines_total', 'Charge items.', ['model', 'tier', 'source']),
    images: counters('tollgate_images_total', 'Charged images, by tier and by the source of the tier.', [
      'model',
      'tier',
      'source',
    ]),
    differs: counters(
      'tollgate_size_differs_total',
      'Charge items whose decoded size differs from the requested size.',
      ['model'],
    ),
    flags: counters('tollgate_line_flags_total', 'Charge items with a flag.', ['model', 'flag']),
    cache: counters('tollgate_answer_cache_total', 'Requests for models with an answer cache: hit, miss, bypass.', [
      'model',
      'result',
    ]),
    cacheSaved: counters(
      'tollgate_answer_cache_saved_micros_total',
      'Money that hits of the answer cache have not cost, in millionths of the currency.',
      ['model'],
    ),
    limited: counters('tollgate_limit_decisions_total', 'Limit decisions: admitted, refused, shadow.', [
      'limit',
      'decision',
    ]),
    folded: counters(
      'tollgate_labels_folded_total',
      'End users and tags of requests that count as (other), because as many are stored as may be.',
      ['kind'],
    ),
    commitFailures: counters('tollgate_storage_commit_failures_total', 'Changes that are not known to be committed.', [
      'change',
    ]),
    unrecognised: counters(
      'tollgate_answers_unrecognised_total',
      'Upstream responses that were withheld in whole or in part because of unknown content.',
      ['model', 'upstream'],
    ),
    retries: counters(
      'tollgate_retries_total',
      'Requests that were sent again, by the failed upstream and the cause.',
      ['upstream', 'cause'],
    ),
    longTurns: counters(
      'tollgate_long_turns_total',
      'Event loop turns of more than 50 ms for one request, by activity.',
      ['step'],
    ),
  }
}

/** Histograms of durations. */
function createDurations() {
  return {
    seconds: histograms(
      'tollgate_request_duration_seconds',
      'From the request headers to settlement.',
      ['operation'],
      secondsBounds,
    ),
    upstreamSeconds: histograms(
      'tollgate_upstream_head_seconds',
      'From dispatch to the response headers of the upstream, or to its failure.',
      ['upstream', 'status'],
      secondsBounds,
    ),
    commits: histograms('tollgate_storage_commit_seconds', 'From a change to its commit.', ['change'], commitBounds),
  }
}

type Families = ReturnType<typeof createFamilies>
type Known = {
  readonly operations: Set<string>
  readonly models: Set<string>
  readonly upstreams: Set<string>
  wildcards: readonly string[]
}

/** The cells of a request, found by its attributes. */
function createCells(
  families: Families,
  durations: ReturnType<typeof createDurations>,
  known: Known,
): (row: LogRow) => RequestCells {
  const bound = new Map<string, RequestCells>()
  return row => {
    const key = `${row.operation}\n${row.model}\n${statusClass(row.status)}\n${row.outcome}`
    const found = bound.get(key)
    if (found) return found
    const operation = label(row.operation, known.operations)
    const cells = {
      requests: families.requests.at(operation, modelLabel(row.model, known), statusClass(row.status), row.outcome),
      seconds: durations.seconds.at(operation),
    }
    // Labels that clients choose are not cached: they could fill the memory.
    if (operation !== 'other' && (row.model === null || known.models.has(row.model))) bound.set(key, cells)
    return cells
  }
}

/** Opens the metrics of one gateway. Two gateways of one process share only the metrics of the process. */
export function createMetrics(): Metrics {
  const families = createFamilies()
  const durations = createDurations()
  const known: Known = { operations: new Set(), models: new Set(), upstreams: new Set(), wildcards: [] }
  const cellsOf = createCells(families, durations, known)
  const more = new MoreSeries()
  let counting: readonly SeriesBy[] = []
  const labelOf = (name: string | null): string => modelLabel(name, known)
  const gauges: (() => Snapshot)[] = []
  const readers: (() => Awaitable<readonly Snapshot[]>)[] = []
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs })
  delay.enable()
  let loop = performance.eventLoopUtilization()
  let inFlight = 0

  function ownSnapshots(): readonly Snapshot[] {
    const since = performance.eventLoopUtilization(loop)
    loop = performance.eventLoopUtilization()
    const delays = delaySnapshot(delay)
    delay.reset()
    return [
      ...Object.values(families).map(countersSnapshot),
      ...Object.values(durations).map(histogramsSnapshot),
      ...more.snapshots(),
      gaugeSnapshot('tollgate_requests_in_flight', 'Requests in flight.', inFlight),
      gaugeSnapshot(
        'tollgate_event_loop_busy_ratio',
        'Share of the time since the last scrape in which the event loop was busy.',
        since.utilization,
        'average',
      ),
      delays,
      ...gauges.map(read => read()),
    ]
  }

  async function everything(): Promise<readonly Snapshot[]> {
    const added = await Promise.all(readers.map(async read => read()).map(reading => reading.catch(() => [])))
    return [...ownSnapshots(), ...added.flat(), ...processSnapshots()]
  }

  return {
    began() {
      inFlight++
    },
    unrouted(code, began) {
      if (began) inFlight--
      if (code !== undefined) families.refusals.at(code).value++
    },
    settled(row) {
      inFlight--
      const cells = cellsOf(row)
      cells.requests.value++
      cells.seconds.add(row.durationMs / 1000)
      countRow(families, known, row)
      for (const series of counting) series.settled(row, labelOf)
    },
    charged(charge) {
      countCharge(families, known, charge)
      for (const series of counting) series.charged(charge, labelOf)
    },
    limited: decisions => countLimits(families, decisions),
    folded(kinds) {
      for (const kind of kinds) families.folded.at(kind).value++
    },
    unrecognised(model, upstream) {
      families.unrecognised.at(modelLabel(model, known), label(upstream, known.upstreams)).value++
    },
    committed(change, durationMs, committed) {
      durations.commits.at(change).add(durationMs / 1000)
      if (!committed) families.commitFailures.at(change).value++
    },
    upstreamAnswered(upstream, status, durationMs) {
      durations.upstreamSeconds.at(label(upstream, known.upstreams), statusClass(status)).add(durationMs / 1000)
    },
    retried(upstream, cause) {
      families.retries.at(label(upstream, known.upstreams), cause).value++
    },
    turnWasLong(step) {
      families.longTurns.at(step).value++
    },
    know(names) {
      learn(known, names)
      counting = more.use(names.by ?? [])
    },
    gauge(name, help, read, aggregator) {
      gauges.push(() => gaugeSnapshot(`tollgate_${name}`, help, read(), aggregator))
    },
    add(read) {
      readers.push(read)
    },
    delayMs: () => Math.round(lateness(delay.percentile(99)) * 10_000) / 10,
    snapshots: everything,
    expose: async () => exposeTogether([await everything()]),
    close() {
      delay.disable()
    },
  }
}

function learn(known: Known, names: KnownNames): void {
  for (const name of names.operations) known.operations.add(name)
  for (const name of names.models) known.models.add(name)
  for (const name of names.upstreams) known.upstreams.add(name)
  known.wildcards = names.wildcards ?? []
}

function countLimits({ limited }: Families, decisions: readonly LimitDecision[]): void {
  for (const { limit, decision } of decisions) limited.at(limit, decision).value++
}

/** Values that only some requests have: an error, tokens. */
function countRow({ refusals, tokens, cache, cacheSaved }: Families, known: Known, row: LogRow): void {
  if (row.cache) cache.at(modelLabel(row.model, known), row.cache).value++
  if (row.saved) cacheSaved.at(modelLabel(row.model, known)).value += row.saved
  if (row.errorCode !== null) refusals.at(row.errorCode).value++
  if (row.inputTokens !== null) tokens.at(modelLabel(row.model, known), 'input').value += row.inputTokens
  if (row.outputTokens !== null) tokens.at(modelLabel(row.model, known), 'output').value += row.outputTokens
}

function countCharge(families: Families, known: Known, charge: EndedCharge): void {
  const model = modelLabel(charge.model, known)
  families.charges.at(charge.state).value++
  if (charge.state !== 'settled') return
  families.amount.at(model, charge.currency).value += charge.amount
  const requestedSize = pixelsText.exec(charge.size ?? '')
  for (const line of charge.lines) {
    families.lines.at(model, line.tier, line.source).value++
    if (line.quantity === null) families.images.at(model, line.tier, line.source).value++
    for (const flag of line.flags) families.flags.at(model, flag).value++
    if (!requestedSize || line.width === null) continue
    if (Number(requestedSize[1]) !== line.width || Number(requestedSize[2]) !== line.height)
      families.differs.at(model).value++
  }
}

/** One exposition for several processes: each metric is added up, averaged or compared, as its type requires. */
export async function exposeTogether(
  lists: readonly (readonly Snapshot[])[],
): Promise<{ readonly contentType: string; readonly text: string }> {
  const registry = await aggregate(lists)
  return { contentType: registry.contentType, text: await registry.metrics() }
}

/** Adds up the monotonic metrics of ended processes: counters and histograms. */
export async function sumCounts(lists: readonly (readonly Snapshot[])[]): Promise<readonly Snapshot[]> {
  const counts = lists.map(list => list.filter(({ type }) => type === 'counter' || type === 'histogram'))
  const sums: unknown[] = await (await aggregate(counts)).getMetricsAsJSON()
  return sums as Snapshot[]
}

async function aggregate(lists: readonly (readonly Snapshot[])[]) {
  const { AggregatorRegistry } = await import('prom-client')
  return AggregatorRegistry.aggregate(lists.map(list => [...list]))
}

/** A label for a name: the name itself when the configuration has it, `none` without one, else `other`. */
function label(name: string | null, known: ReadonlySet<string>): string {
  if (name === null) return 'none'
  return known.has(name) ? name : 'other'
}

/**
 * The label of a model: its name, or the wildcard that serves it. Clients choose such names, and series are never
 * removed.
 */
function modelLabel(name: string | null, { models, wildcards }: Known): string {
  return name === null || models.has(name) ? label(name, models) : (wildcardFor(name, wildcards) ?? 'other')
}

function statusClass(status: number | null): string {
  if (status === null) return 'none'
  if (status < 200) return '1xx'
  if (status < 300) return '2xx'
  if (status < 400) return '3xx'
  return status < 500 ? '4xx' : '5xx'
}

/** Seconds of a value of the delay's histogram, whose values include its own resolution. */
function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - delayResolutionMs / 1000)
}

/** The delay of timers since the last scrape. */
function delaySnapshot(delay: ReturnType<typeof monitorEventLoopDelay>): Snapshot {
  const quantiles = [0.5, 0.9, 0.99] as const
  return {
    name: 'tollgate_event_loop_delay_seconds',
    help: 'Event loop delay since the last scrape.',
    type: 'summary',
    aggregator: 'max',
    values: [
      ...quantiles.map(quantile => ({
        labels: { quantile: String(quantile) },
        value: lateness(delay.percentile(quantile * 100)),
      })),
      { labels: { quantile: '1' }, value: delay.count > 0 ? lateness(delay.max) : 0 },
    ],
  }
}

function processSnapshots(): readonly Snapshot[] {
  const memory = process.memoryUsage()
  const cpu = process.resourceUsage()
  return [
    {
      ...gaugeSnapshot(
        'process_cpu_seconds_total',
        'User and system time.',
        (cpu.userCPUTime + cpu.systemCPUTime) / 1e6,
      ),
      type: 'counter',
    },
    gaugeSnapshot('process_resident_memory_bytes', 'Resident set.', memory.rss),
    gaugeSnapshot('process_resident_memory_max_bytes', 'Largest resident set so far.', cpu.maxRSS * 1024),
    gaugeSnapshot('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', memory.heapUsed),
    gaugeSnapshot('nodejs_external_memory_bytes', 'Buffers and other memory outside the heap.', memory.external),
    gaugeSnapshot(
      'process_start_time_seconds',
      'Start time of the process, in seconds since the epoch.',
      performance.timeOrigin / 1000,
      'min',
    ),
  ]
}
