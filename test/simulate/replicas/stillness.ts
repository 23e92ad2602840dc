import type { World } from '../world/world.ts'
import type { Ground } from './ground.ts'
import type { Relay } from './relay.ts'

/** The real ones, kept before the world takes their place. */
const later = setTimeout
const clearReal = clearTimeout
const clock = performance.now.bind(performance)

/** What PostgreSQL is told when connections are made, by the world's time. */
const statementMs = 5_000
const idleInTransactionMs = 10_000
/** Real milliseconds: longer than the server needs to see that two wait for each other; what no seed takes. */
const deadlockMs = 15
const stuckMs = 120_000

/**
 * When the servers have nothing more to do: the world's time stands still while one works, and goes on where it waits for a lock.
 * Their own limits in time (of statements, of idle transactions) are kept here, by that time.
 */
export class Stillness {
  readonly #world: World
  readonly #ground: Ground
  readonly #relays: ReadonlySet<Relay>
  readonly #watched = new WeakMap<Relay, number>()
  #stir: () => void = () => undefined
  #stirred = false

  constructor(world: World, ground: Ground, relays: ReadonlySet<Relay>) {
    this.#world = world
    this.#ground = ground
    this.#relays = relays
  }

  /** Resolves when every server has answered, or is known to wait for somebody else's lock. */
  async come(): Promise<void> {
    const began = clock()
    while (this.#isAtWork()) {
      await this.#wait()
      if (clock() - began > stuckMs) throw new Error(`the servers do not come to rest: ${this.#describe()}`)
    }
  }

  /** Something has happened at a server: who waits for a lock may have it now. */
  stirs(): void {
    this.#stirred = true
    for (const relay of this.#relays) relay.isBlocked = false
    this.#stir()
  }

  /** The server ends a transaction in which nothing is asked for too long. */
  watch(relay: Relay): void {
    if (!relay.isInTransaction || !relay.isIdle || this.#watched.get(relay) === relay.answered) return
    this.#watched.set(relay, relay.answered)
    const { asked } = relay
    const end = (): void => {
      if (relay.isGone || relay.isLeft || relay.asked !== asked) return
      this.#world.mark('postgres: idle transaction ended')
      void this.end([relay]).catch(() => undefined)
    }
    this.#world.time.after(idleInTransactionMs, 'the server ends an idle transaction', end, null)
  }

  /** The server ends sessions. A connection that has no session yet stays: waited for as one that ends, it would be for ever. */
  async end(relays: readonly Relay[]): Promise<void> {
    const begun = relays.filter(relay => relay.pid !== undefined)
    for (const relay of begun) relay.isEnding = true
    await this.#ground.terminate(begun.flatMap(relay => relay.pid ?? []))
  }

  #isAtWork(): boolean {
    for (const relay of this.#relays) if (relay.isAtWork) return true
    return false
  }

  #describe(): string {
    const at = [...this.#relays].filter(relay => relay.isAtWork)
    return at.map(one => `${one.store} ${one.pid} ${one.asked}/${one.answered} left ${one.isLeft}`).join('; ')
  }

  /** Until something stirs; where nothing does, finds out who waits for a lock and who is gone. */
  async #wait(): Promise<void> {
    if (!this.#stirred)
      await new Promise<void>(resolve => {
        const limit = later(resolve, 2)
        this.#stir = () => {
          clearReal(limit)
          resolve()
        }
      })
    this.#stir = () => undefined
    const isStirred = this.#stirred
    this.#stirred = false
    const doubtful = [...this.#relays].filter(
      relay => relay.isAtWork && relay.store === 'postgres' && relay.pid !== undefined,
    )
    if (isStirred && !doubtful.some(relay => relay.isLeft)) return
    const left = [...this.#relays].filter(relay => relay.isLeft && relay.pid === undefined)
    for (const relay of left) relay.isGone = true
    if (doubtful.length > 0) await this.#lookAt(doubtful)
  }

  async #lookAt(relays: readonly Relay[]): Promise<void> {
    const waiting = await this.#ground.findWaiting(relays.flatMap(relay => relay.pid ?? []))
    for (const relay of relays) {
      const waits = relay.pid === undefined ? undefined : waiting.get(relay.pid)
      if (waits === undefined && relay.isLeft) relay.isGone = true
      if (waits !== true) {
        relay.blockedSince = undefined
        continue
      }
      relay.blockedSince ??= clock()
      // Who has left is waited for no longer: the server finds out when it has the lock.
      if (clock() - relay.blockedSince <= deadlockMs) continue
      if (relay.isLeft) relay.isGone = true
      else this.#block(relay)
    }
  }

  #block(relay: Relay): void {
    relay.isBlocked = true
    const { answered, pid } = relay
    const cancel = (): void => {
      if (!relay.isBlocked || relay.answered !== answered || relay.isGone || pid === undefined) return
      this.#world.mark('postgres: statement took too long')
      relay.isBlocked = false
      void this.#ground.cancel(pid).catch(() => undefined)
    }
    this.#world.time.after(statementMs, 'the server ends a statement', cancel, null)
  }
}
