import type { Log } from '../plugin-api/index.ts'
import type { Running } from './active-request.ts'

/** The active configuration, and replaced ones that requests still use. */
export class RunningConfigs {
  #active: Running
  readonly #log: Log
  readonly #users = new Map<Running, number>()

  constructor(first: Running, log: Log) {
    this.#active = first
    this.#log = log
  }

  get active(): Running {
    return this.#active
  }

  /** From now on new requests use `next`; current ones keep theirs, and the last of them closes it. */
  replace(next: Running): void {
    const before = this.#active
    this.#active = next
    if (!this.#users.has(before)) this.#close(before)
  }

  use(running: Running): void {
    this.#users.set(running, (this.#users.get(running) ?? 0) + 1)
  }

  release(running: Running): void {
    const users = (this.#users.get(running) ?? 1) - 1
    if (users > 0) this.#users.set(running, users)
    else {
      this.#users.delete(running)
      if (running !== this.#active) this.#close(running)
    }
  }

  #close(running: Running): void {
    running.pipeline
      .close()
      .catch((error: unknown) => this.#log.error({ error: String(error) }, 'closing a replaced plugin failed'))
  }
}
