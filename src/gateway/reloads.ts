import type { ReloadResult } from './reload-result.ts'
import type { ConfigCause } from '../domain/index.ts'
import type { Clock } from '../util/index.ts'
import { type GatewayLog, gaugeSnapshot, type Snapshot } from '../observe/index.ts'
import { type ReloadStatus, reloadStatus } from './status.ts'

/** The result of a reload, for its listeners. */
export type Reloaded =
  | { readonly kind: 'config.applied'; readonly revision: string; readonly findings: readonly string[] }
  | { readonly kind: 'config.refused'; readonly findings: readonly string[] }

/** The maximum number of findings of a refused configuration in the log. */
const findingsMax = 20

/**
 * The reloads of one gateway, one after another. The log and the metrics report each of them, regardless of its cause.
 */
export class Reloads {
  /** When the active configuration took effect, in milliseconds since the epoch. */
  loadedAt: number
  /** The last attempt to read the configuration again; undefined if there was none. */
  last: { readonly at: number; readonly result: ReloadResult } | undefined
  /** The same for operators, including errors in applying it. */
  status: ReloadStatus | null = null
  readonly #clock: Clock
  readonly #log: GatewayLog | undefined
  readonly #read: (cause: ConfigCause) => Promise<ReloadResult>
  readonly #publish: (event: Reloaded) => void
  #turn: Promise<unknown> = Promise.resolve()
  #taken = 0
  #failed = 0
  #lastOk = true

  /** Without a log if another process reports reloads. */
  constructor(
    clock: Clock,
    log: GatewayLog | undefined,
    read: (cause: ConfigCause) => Promise<ReloadResult>,
    publish: (event: Reloaded) => void = () => undefined,
  ) {
    this.#clock = clock
    this.#log = log
    this.#read = read
    this.#publish = publish
    this.loadedAt = clock.now()
  }

  /** One after another, because otherwise a reload that read an older file could take effect last. */
  async run(cause: ConfigCause): Promise<ReloadResult> {
    return (await this.runReported(cause)).result
  }

  /**
   * The same, with the result of the previous reload. If the file's watcher caused that a moment ago, it has already
   * applied the caller's change.
   */
  runReported(cause: ConfigCause): Promise<{ readonly result: ReloadResult; readonly before: ReloadStatus | null }> {
    const next = this.#turn.then(async () => {
      const before = this.status
      return { result: await this.#once(cause), before }
    })
    this.#turn = next.catch(() => undefined)
    return next
  }

  async #once(cause: ConfigCause): Promise<ReloadResult> {
    try {
      const result = await this.#read(cause)
      const at = this.#clock.now()
      this.last = { at, result }
      this.status = reloadStatus(at, result)
      if (result.ok) this.#took(at, result)
      else this.#refused(this.status.findings)
      return result
    } catch (error) {
      const findings = [String(error)]
      this.status = { at: new Date(this.#clock.now()).toISOString(), ok: false, changes: [], findings }
      this.#refused(findings)
      throw error
    }
  }

  #took(at: number, { revision, changes }: Extract<ReloadResult, { ok: true }>): void {
    this.loadedAt = at
    this.#taken++
    this.#lastOk = true
    this.#publish({ kind: 'config.applied', revision, findings: changes })
    this.#log?.info({ revision, changes }, 'a new configuration is active')
  }

  #refused(findings: readonly string[]): void {
    this.#failed++
    this.#lastOk = false
    this.#publish({ kind: 'config.refused', findings })
    this.#log?.error(
      { findings: findings.slice(0, findingsMax), count: findings.length },
      'the new configuration was rejected; the old one stays active',
    )
  }

  snapshots(): readonly Snapshot[] {
    const counted = (name: string, help: string, value: number): Snapshot => ({
      ...gaugeSnapshot(name, help, value),
      type: 'counter',
    })
    return [
      counted('tollgate_config_reloads_total', 'Configurations that were reloaded.', this.#taken),
      counted('tollgate_config_reload_failures_total', 'Configurations that were rejected.', this.#failed),
      gaugeSnapshot(
        'tollgate_config_last_reload_successful',
        'Whether the last configuration that was read is active.',
        Number(this.#lastOk),
        'min',
      ),
      gaugeSnapshot(
        'tollgate_config_loaded_timestamp_seconds',
        'When the active configuration took effect, in seconds since the epoch.',
        this.loadedAt / 1000,
        'max',
      ),
    ]
  }
}
