import type { Log } from '../plugin-api/index.ts'
import type { Clock, Pending } from '../util/index.ts'

export type OutageOptions = {
  readonly clock: Pick<Clock, 'every'>
  readonly log: Log
  /** How often the probe checks whether writing works again, in milliseconds. */
  readonly everyMs: number
  /** A write that changes nothing: resolves when writing works. */
  readonly probe: () => Promise<unknown>
  /** Called when writing works again, after all listeners. */
  readonly ended: () => void
}

/** Whether a storage can be written, and the probe when it cannot. */
export class Outage {
  readonly #options: OutageOptions
  #reason: string | undefined
  #probes: Pending | undefined
  #probing = false
  #closed = false
  #onRecovered: () => void = () => undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** Why the storage cannot be written; undefined while it can. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Sets the callback for each time that writing works again. */
  onRecovered(call: () => void): void {
    this.#onRecovered = call
  }

  /** Calls the callback, because an abandoned write may have succeeded after all. */
  recovered(): void {
    this.#onRecovered()
  }

  /** Records that writing failed with this reason. Logs it once for each outage. */
  begin(reason: string): void {
    if (this.#reason === undefined)
      this.#options.log.error({ reason }, 'the storage cannot be written; billable requests are refused')
    this.#reason = reason
  }

  /** @param keepsOn whether to continue the probes after a success: for other conditions that a probe finds */
  startProbing(keepsOn: () => boolean = () => false): void {
    if (!this.#closed) this.#probes ??= this.#options.clock.every(this.#options.everyMs, () => this.#probe(keepsOn))
  }

  /** Ends the probes. */
  close(): void {
    this.#closed = true
    this.#stopProbing()
  }

  #stopProbing(): void {
    this.#probes?.cancel()
    this.#probes = undefined
  }

  #probe(keepsOn: () => boolean): void {
    if (this.#probing) return
    this.#probing = true
    this.#options
      .probe()
      .then(
        () => this.#answered(keepsOn()),
        () => undefined,
      )
      .finally(() => {
        this.#probing = false
      })
  }

  #answered(keepsOn: boolean): void {
    if (!keepsOn) this.#stopProbing()
    if (this.#reason === undefined) return
    this.#reason = undefined
    this.#options.log.info({}, 'the storage can be written again')
    this.#onRecovered()
    this.#options.ended()
  }
}
