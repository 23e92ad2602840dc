import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import type { Random } from '../world/random.ts'
import { timersOf } from '../world/globals.ts'
import type { Time } from '../world/time.ts'

/** The replacements of the machine's functions. */
export type Machine = {
  readonly time: Time
  readonly random: Random
}

/**
 * Permanently replaces the clocks, timers and random numbers of this process by those of a world: the clients of
 * PostgreSQL and Redis have no other source. Call it before importing anything of the gateway.
 */
export function installMachine(machine: Machine): void {
  const { time } = machine
  const own = timersOf(time)
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
