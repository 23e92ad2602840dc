import type { World } from '../world/world.ts'
import type { Ground } from './ground.ts'
import type { Relay } from './relay.ts'

/** The real functions, saved before the world replaces them. */
const later = setTimeout
const clearReal = clearTimeout
const clock = performance.now.bind(performance)

/** PostgreSQL's timeouts in connections, in the world's time. */
const statementMs = 5_000
const idleInTransactionMs = 10_000
/** Real milliseconds: longer than the server needs to detect a deadlock; and more than any seed takes. */
const deadlockMs = 15
const stuckMs = 120_000

/**
 * Detects when the servers are idle: the world's time stops while one works, and advances while it waits for a lock.
 * This class applies the servers' own timeouts (of statements, of idle transactions) in the world's time.
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

  /** Resolves when every server has answered, or is known to wait for another session's lock. */
  async come(): Promise<void> {
    const began = clock()
    while (this.#isAtWork()) {
      await this.#wait()
      if (clock() - began > stuckMs) throw new Error(`the servers do not come to rest: ${this.#describe()}`)
    }
  }

  /** After an event at a server, a session that waits for a lock may get it. */
  stirs(): void {
    this.#stirred = true
    for (const relay of this.#relays) relay.isBlocked = false
    this.#stir()
  }

  /** The server ends a transaction that is idle for too long. */
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

  /** The server ends sessions. A connection without a session stays: waiting for its end would never finish. */
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

  /** Waits for an event; without one, finds out which sessions wait for a lock and which have ended. */
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
      // A session whose client has left is not waited for: the server notices when it gets the lock.
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
