import type { Clock, Log } from '../kit/index.ts'
import { labelledGauge, type Snapshot } from './tally.ts'

/** A fault of one observer is logged no more often. */
const toldEveryMs = 60_000

/**
 * Calls what only looks on: whatever it throws, or rejects with, ends there, since a request is not lost over a figure
 * or a line of a log. Each observer's fault is counted, and told once a minute.
 */
export class Observers {
  readonly #clock: Clock
  readonly #log: Log
  readonly #faults = new Map<string, { count: number; toldAt: number }>()

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  snapshots(): readonly Snapshot[] {
    const help = 'Calls of what only observes (metrics, log, journal, telemetry) that failed.'
    const values = [...this.#faults].map(([observer, { count }]) => ({ labels: { observer }, value: count }))
    return [{ ...labelledGauge('tollgate_observer_faults_total', help, 'sum', values), type: 'counter' }]
  }

  /** The function, without its faults: undefined comes back instead of one. */
  quiet<Given extends readonly unknown[], Gives>(
    observer: string,
    look: (...given: Given) => Gives,
  ): (...given: Given) => Gives | undefined {
    return (...given) => {
      try {
        return look(...given)
      } catch (error) {
        this.#fault(observer, error)
        return undefined
      }
    }
  }

  #fault(observer: string, error: unknown): void {
    const now = this.#clock.tick()
    const fault = this.#faults.get(observer) ?? { count: 0, toldAt: Number.NEGATIVE_INFINITY }
    fault.count++
    this.#faults.set(observer, fault)
    if (now - fault.toldAt < toldEveryMs) return
    fault.toldAt = now
    this.#log.error({ observer, faults: fault.count, err: error }, 'an observer failed; no request is touched by it')
  }
}

/** The log, whose messages end nothing: what cannot be logged is lost, and there is nobody left to tell. */
export function unfailingLog<Given extends Log>(log: Given): Given {
  const quiet: Log = {
    debug: (facts, text) => attempt(() => log.debug(facts, text)),
    info: (facts, text) => attempt(() => log.info(facts, text)),
    warn: (facts, text) => attempt(() => log.warn(facts, text)),
    error: (facts, text) => attempt(() => log.error(facts, text)),
  }
  return Object.assign(Object.create(log) as Given, quiet)
}

function attempt(say: () => void): void {
  try {
    say()
  } catch {
    // Told by the log's own reader, who misses it.
  }
}
