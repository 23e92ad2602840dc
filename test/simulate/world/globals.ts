import type { Happening, Time } from './time.ts'

/** A timer of the world, with the methods of Node's own. */
class WorldTimer {
  #happening: Happening
  #spent = false
  readonly #time: Time
  readonly #ms: number
  readonly #every: boolean
  readonly #run: () => void

  constructor(time: Time, run: () => void, ms: number, every: boolean) {
    this.#time = time
    this.#run = run
    // As in Node: at least 1 ms, and 1 ms if too long.
    this.#ms = ms >= 1 && ms <= 2_147_483_647 ? Math.trunc(ms) : 1
    this.#every = every
    this.#happening = this.#arm()
  }

  #arm(): Happening {
    return this.#time.after(this.#ms, this.#every ? 'interval' : 'timer', () => {
      if (this.#every) this.#happening = this.#arm()
      else this.#spent = true
      this.#run()
    })
  }

  cancel(): void {
    this.#happening.cancelled = true
    this.#spent = true
  }

  refresh(): this {
    // A cleared interval stays cleared.
    if (this.#spent && this.#every) return this
    this.#happening.cancelled = true
    this.#spent = false
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

  close(): this {
    this.cancel()
    return this
  }

  [Symbol.dispose](): void {
    this.cancel()
  }
}

type Run = (...args: unknown[]) => void

/** The replacements of Node's timers. */
export function timersOf(time: Time) {
  const arm =
    (every: boolean) =>
    (run: Run, ms = 1, ...args: unknown[]) =>
      new WorldTimer(time, () => run(...args), ms, every)
  const clear = (timer: unknown): void => {
    if (timer instanceof WorldTimer) timer.cancel()
  }
  return { setTimeout: arm(false), setInterval: arm(true), clearTimeout: clear, clearInterval: clear }
}
