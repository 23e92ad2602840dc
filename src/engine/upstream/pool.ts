import { IntrusiveSet } from '../../util/index.ts'
import type { Deadlines, Timed } from '../deadlines.ts'
import { Connection, type ConnectionOwner } from './connection.ts'
import type { Dialler } from './dial.ts'
import { type Waiter, RequestQueue } from './request-queue.ts'
import { Waits, type WaitTimes } from './waits.ts'
import { ConnectionClosed, QueueFull } from './wire-fault.ts'

/** How long an idle connection is kept if the upstream does not report a time. */
const idleMs = 4_000
/** If it does, the connection is closed earlier by this time, so that no request meets its end. */
const earlierMs = 2_000
const idleMsMax = 30_000
/** The interval at which idle connections are checked. */
const sweepMs = 500
/** One that was idle for longer may have been closed meanwhile: pending events are read before it is used. */
const trustedMs = 50

export type PoolStatus = {
  /** The same for upstreams that share their connections. */
  readonly pool: object
  readonly busy: number
  readonly most: number
  readonly waiting: number
  readonly waits: WaitTimes
}

/** The connections to one endpoint: each carries one request at a time, and the last used one is used first. */
export class Pool implements ConnectionOwner, Timed {
  place = -1
  deadlineAt = 0
  readonly #dialler: Dialler
  readonly #deadlines: Deadlines
  readonly #max: number
  readonly #all = new IntrusiveSet<Connection>()
  /** The last one is the one used last. */
  readonly #idle: Connection[] = []
  /**
   * Resting connections: they carry nothing, and are read for a whole turn of the event loop before they are used, so
   * that data after an answer, and the server's close, are noticed. First those of this turn.
   */
  #resting: Connection[] = []
  #listened: Connection[] = []
  #isTurnAwaited = false
  #dialled = 0
  readonly #waiting = new RequestQueue()
  readonly #waitingFresh = new RequestQueue()
  readonly #waits = new Waits()
  #turns = 0
  #turnedAway = 0
  #isClosed = false

  /** @param connectionsMax the most that are open, or being opened, at a time */
  constructor(dialler: Dialler, deadlines: Deadlines, connectionsMax: number) {
    this.#dialler = dialler
    this.#deadlines = deadlines
    this.#max = connectionsMax
  }

  /** Gives a connection to a request: now, or in turn. */
  ask(waiter: Waiter, now: number): void {
    if (this.#isClosed) return waiter.onError(new ConnectionClosed())
    const connection = waiter.isFresh ? undefined : this.#takeIdle(now)
    if (connection) return this.#begin(connection, waiter)
    waiter.turn = this.#turns++
    waiter.since = now
    waiter.isQueued = this.#all.size >= this.#max && !(waiter.isFresh && this.#idle.length > 0)
    if (waiter.isQueued && this.#queued >= (waiter.queueMax ?? Infinity) && !this.#makeRoom(waiter))
      return this.turnAway(waiter)
    if (waiter.isFresh) this.#waitingFresh.join(waiter)
    else this.#waiting.join(waiter)
    this.#dial()
  }

  /** Waiting requests, without those for which a connection is being opened. */
  get #queued(): number {
    return this.#waiting.size + this.#waitingFresh.size - this.#dialled
  }

  /** Requests that were refused because the queue was full. */
  get turnedAway(): number {
    return this.#turnedAway
  }

  /** A key with fewer waiting requests takes a queue slot from one with more. @returns false if there is none */
  #makeRoom({ payer, isFresh }: Waiter): boolean {
    const line = isFresh ? this.#waitingFresh : this.#waiting
    const last = line.mostCrowded
    if (!last || line.countOf(last.payer) <= line.countOf(payer) + 1) return false
    this.turnAway(last)
    return true
  }

  /**
   * How many connections are busy or being opened, and the limit; how many requests wait for one, and how long others
   * waited.
   */
  get status(): PoolStatus {
    const free = this.#idle.length + this.#resting.length + this.#listened.length
    return {
      pool: this,
      busy: this.#all.size - free,
      most: this.#max,
      waiting: this.#waiting.size + this.#waitingFresh.size,
      waits: this.#waits.read(this.#deadlines.clock.tick()),
    }
  }

  /** Closes all connections, and informs the requests that have one or wait for one. */
  close(): void {
    this.#isClosed = true
    this.#deadlines.forget(this)
    this.#all.each(connection => connection.break(new ConnectionClosed()))
    for (let next = this.#nextWaiting(); next; next = this.#nextWaiting()) this.#dismiss(next, new ConnectionClosed())
  }

  onRest(connection: Connection): void {
    if (keepFor(connection.keptMs) > 0) this.#rest(connection)
    else connection.close()
  }

  onGone(connection: Connection): void {
    this.#all.delete(connection)
    // One that is being opened, or carried a request, is in no other list.
    removeFrom(this.#idle, connection)
    removeFrom(this.#resting, connection)
    removeFrom(this.#listened, connection)
    this.#dial()
  }

  /** Closes connections that were idle for too long. */
  onDeadline(): number | undefined {
    const now = this.#deadlines.clock.tick()
    for (const connection of this.#idle.filter(({ idleUntil }) => idleUntil <= now)) connection.close()
    return this.#idle.length > 0 ? now + sweepMs : undefined
  }

  #takeIdle(now: number): Connection | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.idleUntil <= now) connection.close()
      else if (now - connection.idleSince <= trustedMs) return connection
      else {
        this.#rest(connection)
        return undefined
      }
    }
    return undefined
  }

  #begin(connection: Connection, waiter: Waiter): void {
    connection.ref()
    connection.idleUntil = 0
    connection.begin(waiter)
  }

  #beginWaited(connection: Connection, waiter: Waiter): void {
    const now = this.#deadlines.clock.tick()
    if (waiter.since !== undefined) this.#waits.add(now, now - waiter.since)
    this.#begin(connection, waiter)
  }

  /** One immediate for all that rest in a turn. */
  #rest(connection: Connection): void {
    this.#resting.push(connection)
    this.#awaitTurn()
  }

  #awaitTurn(): void {
    if (this.#isTurnAwaited) return
    this.#isTurnAwaited = true
    setImmediate(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#isTurnAwaited = false
    const rested = this.#listened
    this.#listened = this.#resting
    this.#resting = []
    const now = this.#deadlines.clock.tick()
    for (const connection of rested) if (!connection.isGone) this.#offer(connection, now)
    if (this.#listened.length > 0) this.#awaitTurn()
  }

  /** A connection that carried something is ready for the next. */
  #offer(connection: Connection, now: number): void {
    const waiter = this.#waiting.first
    if (waiter) {
      this.#waiting.serve(waiter)
      return this.#beginWaited(connection, waiter)
    }
    // One that rested only to be read was idle before.
    if (connection.idleUntil === 0) connection.idleUntil = now + keepFor(connection.keptMs)
    // A request that waits for a new connection gets the slot of this one.
    const isInTheWay = this.#waitingFresh.size > this.#dialled && this.#all.size >= this.#max
    if (isInTheWay || connection.idleUntil <= now) return connection.close()
    connection.unref()
    connection.idleSince = now
    this.#idle.push(connection)
    if (this.place < 0) this.deadlineAt = now + sweepMs
    this.#deadlines.watch(this)
  }

  /** Opens as many connections as are waited for, up to the limit. */
  #dial(): void {
    while (!this.#isClosed && this.#wanted > 0) {
      if (this.#all.size >= this.#max) {
        // A request that waits for a new connection does not wait for idle ones.
        const idle = this.#waitingFresh.size > this.#dialled ? this.#idle.shift() : undefined
        if (!idle) return
        idle.close()
        continue
      }
      const connection = new Connection(this)
      this.#all.add(connection)
      this.#dialled++
      this.#dialler.dial(connection).then(
        () => this.#onDialled(connection),
        (error: Error) => this.#onDialFailed(connection, error),
      )
    }
  }

  get #wanted(): number {
    const forAny = Math.max(0, this.#waiting.size - this.#resting.length - this.#listened.length)
    return forAny + this.#waitingFresh.size - this.#dialled
  }

  #onDialled(connection: Connection): void {
    this.#dialled--
    if (connection.isGone) return this.#dial()
    const waiter = this.#nextWaiting()
    if (!waiter) return this.#offer(connection, this.#deadlines.clock.tick())
    waiter.line?.serve(waiter)
    this.#beginWaited(connection, waiter)
    // A resting connection may serve the first in the queue: then another one waits for the new connection.
    this.#dial()
  }

  /** Informs the first in the queue of those that it was for, and none that a resting connection will serve. */
  #onDialFailed(connection: Connection, error: Error): void {
    this.#dialled--
    this.#all.delete(connection)
    const waiter = earlier(this.#firstUnserved, this.#waitingFresh.first)
    if (waiter) this.#dismiss(waiter, error)
    this.#dial()
  }

  /** The earliest. */
  #nextWaiting(): Waiter | undefined {
    return earlier(this.#waiting.first, this.#waitingFresh.first)
  }

  /** The next of those that accept any connection, after as many as connections rest. */
  get #firstUnserved(): Waiter | undefined {
    return this.#waiting.after(this.#resting.length + this.#listened.length)
  }

  /** It has waited for the maximum time. */
  turnAway(waiter: Waiter): void {
    this.#turnedAway++
    const waiting = this.#waiting.size + this.#waitingFresh.size
    this.#dismiss(waiter, new QueueFull(this.#waits.forecast(this.#deadlines.clock.tick(), waiting)))
  }

  #dismiss(waiter: Waiter, error: Error): void {
    waiter.line?.leave(waiter)
    waiter.onError(error)
  }
}

/** The earlier of two, if there are two. */
function earlier(one: Waiter | undefined, other: Waiter | undefined): Waiter | undefined {
  return one && other ? (one.turn < other.turn ? one : other) : (one ?? other)
}

/** How long an idle connection is kept, with or without a time from its upstream. */
function keepFor(keptMs: number | undefined): number {
  return keptMs === undefined ? idleMs : Math.min(keptMs - earlierMs, idleMsMax)
}

function removeFrom(list: Connection[], connection: Connection): void {
  const at = list.indexOf(connection)
  if (at >= 0) list.splice(at, 1)
}
