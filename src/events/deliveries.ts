import type { EventStore, WebhookConfig } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import { type Clock, OnceAMinute, type Pending } from '../util/index.ts'
import { WebhookDispatcher, type Silence } from './webhook-dispatcher.ts'

/** The interval of the search for new events. */
export const everyMs = 2_000

type Parts = {
  readonly events: EventStore
  readonly clock: Clock
  readonly log: Log
  /** The receivers in the active configuration. */
  receivers(this: void): ReadonlyMap<string, WebhookConfig> | undefined
}

type Round = { readonly dispatcher: WebhookDispatcher; next: Pending | undefined; running: Promise<void> | undefined }

/** The counts of one receiver's events. */
export type Tries = { arrived: number; failed: number; given_up: number }

/** Sends events to all receivers, each at its own pace: a slow one does not delay the others. */
export class Deliveries {
  readonly #parts: Parts
  readonly #logged: OnceAMinute
  readonly #rounds = new Map<string, Round>()
  readonly #tries = new Map<string, Tries>()
  #closed = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#logged = new OnceAMinute(parts.clock)
    this.follow()
  }

  /** By receiver. */
  get tries(): ReadonlyMap<string, Readonly<Tries>> {
    return this.#tries
  }

  /** Receivers that accept no events from this process, by name. */
  get silent(): ReadonlyMap<string, Silence> {
    return new Map(
      [...this.#rounds].flatMap(([name, { dispatcher }]) => (dispatcher.silence ? [[name, dispatcher.silence]] : [])),
    )
  }

  /** Starts receivers that are new in the configuration. Removed ones end by themselves. */
  follow(): void {
    const { events, clock, log, receivers } = this.#parts
    for (const name of receivers()?.keys() ?? []) {
      if (this.#closed || this.#rounds.has(name)) continue
      const tries: Tries = this.#tries.get(name) ?? { arrived: 0, failed: 0, given_up: 0 }
      this.#tries.set(name, tries)
      const dispatcher = new WebhookDispatcher({ events, clock, log, tried: (_name, how) => void tries[how]++ })
      const round: Round = { dispatcher, next: undefined, running: undefined }
      this.#rounds.set(name, round)
      this.#wait(name, round, 0)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { dispatcher, next } of this.#rounds.values()) {
      next?.cancel()
      dispatcher.close()
    }
    for (const { running } of this.#rounds.values()) await running
  }

  #wait(name: string, round: Round, ms: number): void {
    if (this.#closed) return
    round.next = this.#parts.clock.after(ms, () => {
      round.running = this.#turn(name, round)
    })
  }

  async #turn(name: string, round: Round): Promise<void> {
    const receiver = this.#parts.receivers()?.get(name)
    if (!receiver) {
      round.dispatcher.close()
      this.#rounds.delete(name)
      return
    }
    let more = false
    try {
      more = await round.dispatcher.turn(receiver)
    } catch (error) {
      if (this.#logged.count(name) > 0)
        this.#parts.log.warn({ err: error, webhook: name }, 'events could not be delivered')
    }
    this.#wait(name, round, more ? 0 : everyMs)
  }
}
