import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import type { Random } from '../world/random.ts'
import type { Happening, Time } from '../world/time.ts'

/** What takes the place of the machine. */
export type Machine = {
  readonly time: Time
  readonly random: Random
}

/** A timer of the world, with what Node's own have. */
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
    // As Node's: at least 1 ms, and too long is 1 ms.
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
    if (!this.#spent || !this.#every) {
      this.#happening.cancelled = true
      this.#spent = false
      this.#happening = this.#arm()
    }
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

/**
 * Puts a world in the place of the clocks, timers and random numbers of this process, for good: the clients of PostgreSQL and
 * Redis take them from nowhere else. Before anything of the gateway is imported.
 */
export function installMachine(machine: Machine): void {
  const { time } = machine
  const arm =
    (every: boolean) =>
    (run: Run, ms = 1, ...args: unknown[]) =>
      new WorldTimer(time, () => run(...args), ms, every)
  const clear = (timer: unknown): void => {
    if (timer instanceof WorldTimer) timer.cancel()
  }
  const own = { setTimeout: arm(false), setInterval: arm(true), clearTimeout: clear, clearInterval: clear }
  Object.assign(globalThis, own)
  Object.assign(timers, own)
  Object.assign(timersPromises, { setTimeout: sleepIn(time) })
  Object.defineProperty(performance, 'now', { value: () => time.tick, configurable: true, writable: true })
  Date.now = () => Math.floor(time.wall)
  Math.random = () => machine.random.unit()
  Object.assign(crypto, {
    randomBytes: (size: number) => machine.random.bytes(size),
    randomUUID: () => {
      const hex = machine.random.bytes(16).toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
    },
  })
  syncBuiltinESMExports()
}

function sleepIn(time: Time) {
  return (ms: number, value: unknown, { signal }: { readonly signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const happening = time.after(Math.max(1, ms), 'sleep', () => resolve(value))
      signal?.addEventListener(
        'abort',
        () => {
          happening.cancelled = true
          reject(signal.reason as Error)
        },
        { once: true },
      )
    })
}
