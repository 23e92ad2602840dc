import timers from 'undici/lib/util/timers.js'
import type { Happening, Time } from './time.ts'

/** A timer of the world, with what Node's own have. */
class WorldTimer {
  #happening: Happening
  readonly #time: Time
  readonly #ms: number
  readonly #run: () => void

  constructor(time: Time, run: () => void, ms: number) {
    this.#time = time
    this.#run = run
    // As Node's: at least 1 ms, and too long is 1 ms.
    this.#ms = ms >= 1 && ms <= 2_147_483_647 ? Math.trunc(ms) : 1
    this.#happening = this.#arm()
  }

  #arm(): Happening {
    return this.#time.after(this.#ms, 'timer', this.#run)
  }

  cancel(): void {
    this.#happening.cancelled = true
  }

  refresh(): this {
    this.#happening.cancelled = true
    this.#happening = this.#arm()
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return false
  }
}

type Run = (...args: unknown[]) => void

/**
 * Puts the world's timers in the place of `setTimeout` and `clearTimeout`, for good or until the next world: undici bounds by them how
 * long it keeps an idle connection and waits for the next piece of an answer, and it takes them from nowhere else. Everything
 * of the gateway's own is handed the world's clock, random numbers, connections and threads (test/house/seams.test.ts).
 * Not the world's: `Date` headers of Node's server, whose clock is inside of Node; all of them are of one length.
 */
export function replaceTimers(time: Time): void {
  // Undici has one timer for all of its own, which may stand in a world that is over.
  timers.reset()
  Object.assign(globalThis, {
    setTimeout: (run: Run, ms = 1, ...args: unknown[]) => new WorldTimer(time, () => run(...args), ms),
    clearTimeout: (timer: unknown): void => {
      if (timer instanceof WorldTimer) timer.cancel()
    },
  })
}
