import { setTimeout as sleepOn } from 'node:timers/promises'

/** A scheduled call. */
export type Pending = { cancel(): void }

/** Time is injected, so that tests control it. */
export type Times = {
  /** Milliseconds since the epoch, for records. */
  now(): number
  /** Monotonic milliseconds, for limits and durations. */
  tick(): number
}

/** Timers. */
export type Timers = {
  /** Calls a function once after a delay. The timer does not keep the process alive. */
  after(ms: number, run: () => void): Pending
  /** Calls a function repeatedly until cancelled. The timer does not keep the process alive. */
  every(ms: number, run: () => void): Pending
  /** Resolves after a delay, or as soon as `signal` is aborted. The timer keeps the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export type Clock = Times & Timers

export const systemTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return { cancel: () => clearTimeout(timer) }
  },
  every(ms, run) {
    const timer = setInterval(run, ms).unref()
    return { cancel: () => clearInterval(timer) }
  },
  sleep: (ms, signal) => sleepOn(ms, undefined, signal && { signal }).catch(() => undefined),
}

export const systemClock: Clock = { now: () => Date.now(), tick: () => performance.now(), ...systemTimers }

/** A complete clock from one that may have only `now`: timers then use the system's time. */
export function completeClock(given: Times & Partial<Timers>): Clock {
  return {
    now: () => given.now(),
    tick: () => given.tick(),
    after: (ms, run) => (given.after ? given.after(ms, run) : systemTimers.after(ms, run)),
    every: (ms, run) => (given.every ? given.every(ms, run) : systemTimers.every(ms, run)),
    sleep: (ms, signal) => (given.sleep ? given.sleep(ms, signal) : systemTimers.sleep(ms, signal)),
  }
}
