import type { Deliveries } from '../events/index.ts'
import type { CompiledConfig, Storage } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import { type Clock, processName } from '../util/index.ts'
import { labelledGauge, type Metrics, type Snapshot } from '../observe/index.ts'
import type { Reloaded } from './reloads.ts'
import type { ProcessStatus } from './status.ts'

/** The maximum number of listed changes of a reload, or of findings of a refused one. */
const findingsMax = 20
const lineCharsMax = 300

type Parts = {
  readonly storage: Pick<Storage, 'events' | 'ledger'>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<Metrics, 'add'>
  receivers(this: void): CompiledConfig['webhooks']
}

/** Sends events to the receivers in the configuration. Their code is loaded only if there is a receiver. */
export class EventPublisher {
  readonly #parts: Parts
  #deliveries: Promise<Deliveries> | undefined
  #running: Deliveries | undefined
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.follow()
  }

  /** Applies a new configuration. */
  follow(): void {
    if (this.#isClosed || !this.#parts.receivers()) return
    if (this.#deliveries) void this.#deliveries.then(deliveries => deliveries.follow())
    else this.#deliveries = this.#start()
  }

  /**
   * If several gateways load the same configuration, each reports it, but it is stored once. A reload without changes
   * is reported only if it follows a refused one.
   */
  reloaded({ kind, findings, ...rest }: Reloaded): void {
    const lines = findings.slice(0, findingsMax).map(line => line.slice(0, lineCharsMax))
    const named = kind === 'config.applied' ? { changes: lines } : { findings: lines }
    const { storage, log } = this.#parts
    const ends = kind === 'config.applied' && findings.length === 0 ? 'config.refused' : undefined
    const written = async (): Promise<void> =>
      storage.events.addUnlessRepeated(
        { kind, data: { ...rest, ...named, count: findings.length, host: processName() } },
        ends,
      )
    written().catch((error: unknown) => log.warn({ err: error }, `${kind} could not be published`))
  }

  /** Receivers that accept no events: the start and the reason. */
  get silent(): NonNullable<ProcessStatus['silent_webhooks']> {
    const silent = [...(this.#running?.silent ?? [])]
    return silent.map(([name, { since, why }]) => ({ name, since: new Date(since).toISOString(), why }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await (await this.#deliveries)?.close()
  }

  async #start(): Promise<Deliveries> {
    const { storage, clock, log, metrics, receivers } = this.#parts
    const { Deliveries } = await import('../events/index.ts')
    const deliveries = new Deliveries({ events: storage.events, clock, log, receivers })
    metrics.add(() => [snapshotOf(deliveries), silenceOf(deliveries, clock.now())])
    this.#running = deliveries
    return deliveries
  }
}

/** A process knows nothing about receivers that another process sends to, so the longest outage counts. */
function silenceOf({ tries, silent }: Deliveries, now: number): Snapshot {
  const values = [...tries.keys()].map(webhook => {
    const since = silent.get(webhook)?.since ?? now
    return { labels: { webhook }, value: Math.max(0, now - since) / 1000 }
  })
  return labelledGauge('tollgate_webhook_silent_seconds', 'How long a webhook has accepted no events.', 'max', values)
}

function snapshotOf({ tries }: Deliveries): Snapshot {
  const values = [...tries].flatMap(([webhook, counts]) =>
    Object.entries(counts).map(([result, value]) => ({ labels: { webhook, result }, value })),
  )
  const help = 'Events sent to a webhook, by outcome.'
  return { ...labelledGauge('tollgate_webhook_events_total', help, 'sum', values), type: 'counter' }
}
