import type { Log } from '../plugin-api/index.ts'
import type { Clock, Pending } from '../util/index.ts'

export type OutageOptions = {
  readonly clock: Pick<Clock, 'every'>
  readonly log: Log
  /** How often it is checked whether writing works again, in milliseconds. */
  readonly everyMs: number
  /** A write that changes nothing: resolves when writing works. */
  readonly probe: () => Promise<unknown>
  /** Writing works again, and all listeners were called. */
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

  /** Why it cannot be written; undefined while it can. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Calls back each time that writing works again. */
  onRecovered(call: () => void): void {
    this.#onRecovered = call
  }

  /** An abandoned write may have succeeded after all. */
  recovered(): void {
    this.#onRecovered()
  }

  /** Writing failed with this reason. Reported once for an outage. */
  begin(reason: string): void {
    if (this.#reason === undefined)
      this.#options.log.error({ reason }, 'the storage cannot be written; billable requests are refused')
    this.#reason = reason
  }

  /** @param keepsOn whether to probe again after an answer: for other findings of a probe */
  startProbing(keepsOn: () => boolean = () => false): void {
    if (!this.#closed) this.#probes ??= this.#options.clock.every(this.#options.everyMs, () => this.#probe(keepsOn))
  }

  /** The checks end. */
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
