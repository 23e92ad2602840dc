import type { Log } from '../plugin-api/index.ts'
import { type Clock, OnceAMinute } from '../util/index.ts'
import { labelledGauge, type Snapshot } from './tally.ts'

/**
 * Calls an observer and ignores its errors and rejections: a metric or a log line must not break a request. Each
 * observer's errors are counted, and reported once a minute.
 */
export class Observers {
  readonly #log: Log
  readonly #logged: OnceAMinute
  readonly #faults = new Map<string, number>()

  constructor(clock: Clock, log: Log) {
    this.#log = log
    this.#logged = new OnceAMinute(clock)
  }

  snapshots(): readonly Snapshot[] {
    const help = 'Failed calls of observers (metrics, log, journal, telemetry).'
    const values = [...this.#faults].map(([observer, value]) => ({ labels: { observer }, value }))
    return [{ ...labelledGauge('tollgate_observer_faults_total', help, 'sum', values), type: 'counter' }]
  }

  /** The function without its errors: it returns undefined in their place. */
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
    const faults = (this.#faults.get(observer) ?? 0) + 1
    this.#faults.set(observer, faults)
    if (this.#logged.count(observer) > 0)
      this.#log.error({ observer, faults, err: error }, 'an observer failed; requests are not affected')
  }
}

/** The log with its errors ignored: messages that cannot be written are lost. */
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
    // A log cannot report its own failure: its reader notices that lines are missing.
  }
}
