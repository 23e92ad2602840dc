import { type Awaitable, type Clock, isPromise } from '../util/index.ts'

/** The longest time that a request may block the event loop in one turn (`docs/performance.md`). */
export const turnMsMax = 50
/** Shorter steps do not block a turn: a turn in which a request has fifty of them has another cause. */
const noticeMs = 1

/** The phase of a request: its head up to the upstream call, its body, the answer, its end. */
export type Step = 'request' | 'body' | 'answer' | 'end'

/** A request that blocked a turn of the event loop. */
export type LongTurn = { readonly request: string; readonly step: Step; readonly ms: number }

/**
 * Attributes long turns to requests: each synchronous step of a request is timed, and its share of a turn is reported
 * if that was too long. A step costs two clock reads; only steps of a millisecond or more are kept.
 */
export class EventLoopWatch {
  readonly clock: Pick<Clock, 'tick'>
  readonly #onLong: (turn: LongTurn) => void
  readonly #msMax: number
  #taken: { readonly request: string; step: Step; longest: number; ms: number }[] = []

  constructor(clock: Pick<Clock, 'tick'>, onLong: (turn: LongTurn) => void, msMax = turnMsMax) {
    this.clock = clock
    this.#onLong = onLong
    this.#msMax = msMax
  }

  /** A step of a request has ended that began at `since`, by the clock's `tick`. */
  took(request: string, step: Step, since: number): void {
    const ms = this.clock.tick() - since
    if (ms >= noticeMs) this.#add(request, step, ms)
  }

  #add(request: string, step: Step, ms: number): void {
    if (this.#taken.length === 0) setImmediate(this.#endTurn)
    const mine = this.#taken.find(one => one.request === request)
    if (!mine) {
      this.#taken.push({ request, step, longest: ms, ms })
      return
    }
    mine.ms += ms
    if (ms <= mine.longest) return
    mine.longest = ms
    mine.step = step
  }

  readonly #endTurn = (): void => {
    const taken = this.#taken
    this.#taken = []
    for (const { request, step, ms } of taken) if (ms > this.#msMax) this.#onLong({ request, step, ms })
  }
}

/** The time that one request takes, step by step. */
export class Stopwatch {
  readonly #turns: EventLoopWatch
  readonly #request: string
  /** When the current work began, by the clock's `tick`. */
  since = 0
  #running = false

  constructor(turns: EventLoopWatch, request: string) {
    this.#turns = turns
    this.#request = request
  }

  /** The request begins or continues its work. @returns false if it is already working */
  start(): boolean {
    if (this.#running) return false
    this.#running = true
    this.since = this.#turns.clock.tick()
    return true
  }

  /** The request waits, or is over. */
  stop(step: Step): void {
    if (!this.#running) return
    this.#running = false
    this.#turns.took(this.#request, step, this.since)
  }

  /** Waits for a promise, during which the request does no work; returns any other value at once. */
  wait<T>(step: Step, value: Awaitable<T>): Awaitable<T> {
    return isPromise(value) ? this.#pause(step, value) : value
  }

  async #pause<T>(step: Step, promise: Promise<T>): Promise<T> {
    this.stop(step)
    try {
      return await promise
    } finally {
      this.start()
    }
  }

  /** Runs work in its own turn. Nested work is part of it. */
  run<T>(step: Step, work: () => T): T {
    if (this.#running) return work()
    this.start()
    try {
      return work()
    } finally {
      this.stop(step)
    }
  }
}
