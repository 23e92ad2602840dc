import { type Counters, keysOf, type OpenCharges, type CompiledConfig, type Storage } from '../domain/index.ts'
import type { Clock } from '../util/index.ts'
import type { Engine, VendorKeys } from '../engine/index.ts'
import { gaugeSnapshot, labelledGauge, type Metrics, type Snapshot } from '../observe/index.ts'
import { readVersion } from './version.ts'

/** The maximum time that a scrape waits for the storage; after that it reports the previous values. */
const storageMs = 1_000

/** The parts of a gateway that a scrape reads. */
type Watched = {
  readonly clock: Pick<Clock, 'after'>
  readonly storage: Pick<Storage, 'ledger' | 'waiting'> & { readonly books: Pick<Storage['books'], 'open'> }
  readonly counters: Pick<Counters, 'healthy'>
  readonly connections: { readonly open: number; readonly refused: number }
  readonly engine: {
    readonly open: number
    readonly sessions: number
    readonly heldBytes: number
    restMs(upstream: string): number
    readonly connectionsOf: Engine['connectionsOf']
    readonly turnedAway: Engine['turnedAway']
    readonly vendorKeys: Pick<VendorKeys, 'report' | 'outcomesOf'>
  }
  plan(this: void): CompiledConfig
}

/**
 * Adds gauges for values that other parts store, read at each scrape. If several processes share a storage, each of
 * them reports the storage's totals.
 */
export function addGauges(metrics: Metrics, { clock, storage, counters, engine, connections, plan }: Watched): void {
  metrics.gauge('open_exchanges', 'Requests that are not settled yet.', () => engine.open)
  metrics.gauge('bodies_memory_bytes', 'Bytes of JSON bodies held in memory.', () => engine.heldBytes)
  metrics.gauge('counters_up', 'Whether the counter store responds.', () => Number(counters.healthy()), 'min')
  metrics.gauge('storage_up', 'Whether the storage accepts writes.', () => Number(storage.ledger.healthy()), 'min')
  metrics.gauge('storage_changes_waiting', 'Changes waiting for their commit.', () => storage.waiting().changes)
  metrics.gauge('storage_rows_waiting', 'Log rows that are not written yet.', () => storage.waiting().rows)
  metrics.gauge('storage_charges_waiting', 'Token charges that are not written yet.', () => storage.waiting().charges)
  metrics.gauge('connections_open', 'Client connections.', () => connections.open)
  metrics.gauge('sessions_open', 'Open WebSockets.', () => engine.sessions)
  metrics.add(() => {
    const refused = 'Connections closed because of a limit, in total or per address.'
    return [{ ...gaugeSnapshot('tollgate_connections_refused_total', refused, connections.refused), type: 'counter' }]
  })
  metrics.add(() => upstreamSnapshots(plan(), engine))
  metrics.add(() => keySnapshots(plan(), engine.vendorKeys))
  metrics.add(async () => [
    labelledGauge('tollgate_build_info', 'Always 1; the labels describe the running version.', 'max', [
      { labels: { version: await readVersion(), node: process.version }, value: 1 },
    ]),
  ])
  let known: readonly OpenCharges[] = []
  let asking: Promise<void> | undefined
  metrics.add(async () => {
    asking ??= ask()
    await Promise.race([asking, new Promise<void>(resolve => clock.after(storageMs, resolve))])
    return chargeSnapshots(plan().currency, known)
  })

  async function ask(): Promise<void> {
    try {
      known = await storage.books.open()
    } catch {
      // Another metric reports that the storage is unreachable.
    } finally {
      asking = undefined
    }
  }
}

function upstreamSnapshots(plan: CompiledConfig, engine: Watched['engine']): readonly Snapshot[] {
  const resting = [...plan.upstreams.keys()].map(upstream => ({ upstream, ms: engine.restMs(upstream) }))
  const pools = [...plan.upstreams.values()].flatMap(upstream => {
    const status = engine.connectionsOf(upstream)
    return status ? { labels: { upstream: upstream.name }, status, turnedAway: engine.turnedAway(upstream) } : []
  })
  const busy = pools.map(({ labels, status }) => ({ labels, value: status.busy }))
  const most = pools.map(({ labels, status }) => ({ labels, value: status.most }))
  const waiting = pools.map(({ labels, status }) => ({ labels, value: status.waiting }))
  const waits = pools.map(({ labels, status }) => ({ labels, value: (status.waits.p95Ms ?? 0) / 1_000 }))
  const away = pools.map(({ labels, turnedAway: value }) => ({ labels, value }))
  const refused =
    'Requests refused because the connection queue of an upstream was full, or because they waited too long.'
  return [
    labelledGauge('tollgate_upstream_connections', 'Connections to an upstream in use.', 'sum', busy),
    labelledGauge('tollgate_upstream_connections_max', 'Maximum connections to an upstream.', 'sum', most),
    labelledGauge('tollgate_upstream_queue', 'Requests waiting for a connection to an upstream.', 'sum', waiting),
    labelledGauge(
      'tollgate_upstream_queue_wait_seconds',
      '95th percentile of the wait of requests that waited, in the last five minutes.',
      'max',
      waits,
    ),
    { ...labelledGauge('tollgate_upstream_queue_refused_total', refused, 'sum', away), type: 'counter' },
    labelledGauge(
      'tollgate_upstream_up',
      'Whether an upstream is in use, or paused after failures.',
      'min',
      resting.map(({ upstream, ms }) => ({ labels: { upstream }, value: Number(ms <= 0) })),
    ),
    labelledGauge(
      'tollgate_upstream_cooldown_seconds',
      'Remaining pause of an upstream.',
      'max',
      resting.map(({ upstream, ms }) => ({ labels: { upstream }, value: ms / 1000 })),
    ),
  ]
}

function keySnapshots({ upstreams }: CompiledConfig, vendorKeys: Watched['engine']['vendorKeys']): readonly Snapshot[] {
  const keyed = [...upstreams.values()].filter(({ keys }) => keys !== undefined)
  const all = keyed.flatMap(upstream => {
    const labels = { upstream: upstream.name }
    return vendorKeys.report(upstream).map(report => ({ report, labels: { ...labels, key: report.name } }))
  })
  const available = keyed.map(({ name }) => ({
    labels: { upstream: name },
    value: all.filter(({ labels, report }) => labels.upstream === name && report.isAvailable).length,
  }))
  const suspended = all.flatMap(({ report: { state, reason }, labels }) =>
    state === 'suspended' ? { labels: { ...labels, reason: reason ?? '' }, value: 1 } : [],
  )
  const ended = keysOf({ upstreams }).flatMap(key =>
    Object.entries(vendorKeys.outcomesOf(key)).map(([outcome, value]) => ({
      labels: { upstream: key.upstream.name, key: key.name, outcome },
      value,
    })),
  )
  const up = all.map(({ report, labels }) => ({ labels, value: Number(report.state === 'active') }))
  const requests = 'Requests with a key of an upstream, by outcome.'
  return [
    labelledGauge('tollgate_upstream_key_up', 'Whether a key of an upstream is active.', 'min', up),
    labelledGauge('tollgate_upstream_key_suspended', 'Suspended keys of an upstream.', 'max', suspended),
    labelledGauge('tollgate_upstream_keys_asked', 'Usable keys of an upstream.', 'min', available),
    { ...labelledGauge('tollgate_upstream_key_requests_total', requests, 'sum', ended), type: 'counter' },
  ]
}

function chargeSnapshots(currency: string, open: readonly OpenCharges[]): readonly Snapshot[] {
  const count = (state: OpenCharges['state']): number =>
    open.filter(one => one.state === state).reduce((sum, one) => sum + one.count, 0)
  const held = (state: OpenCharges['state']) => {
    const found = open.filter(one => one.state === state)
    return (found.length > 0 ? found : [{ currency, hold: 0 }]).map(one => ({
      labels: { currency: one.currency },
      value: one.hold,
    }))
  }
  return [
    gaugeSnapshot('tollgate_holds_open', 'Open charges of all gateways on the storage.', count('reserved'), 'max'),
    labelledGauge(
      'tollgate_held_micros',
      'Money held for open charges, in millionths of the currency.',
      'max',
      held('reserved'),
    ),
    gaugeSnapshot(
      'tollgate_charges_needing_review',
      'Charges with an unknown outcome that wait for review.',
      count('needs_review'),
      'max',
    ),
    labelledGauge(
      'tollgate_review_held_micros',
      'Money held for charges that wait for review, in millionths of the currency.',
      'max',
      held('needs_review'),
    ),
  ]
}
