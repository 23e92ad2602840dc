import { setTimeout as sleepOn } from 'node:timers/promises'

/** Something that has yet to happen. */
export type Pending = { cancel(): void }

/** Time is handed in, so that tests decide it. */
export type Times = {
  /** Milliseconds since the epoch, for records. */
  now(): number
  /** Milliseconds that only ever grow, for limits and durations. */
  tick(): number
}

/** Work for later. */
export type Timers = {
  /** Does something once, so many milliseconds from now. The process does not stay for it. */
  after(ms: number, run: () => void): Pending
  /** Does something every so many milliseconds, until it is cancelled. The process does not stay for it. */
  every(ms: number, run: () => void): Pending
  /** Resolves so many milliseconds from now, or as soon as `signal` is aborted. The process stays for it. */
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

/** A whole clock from one that may only have the time: timers then use the system's time. */
export function completeClock(given: Times & Partial<Timers>): Clock {
  return {
    now: () => given.now(),
    tick: () => given.tick(),
    after: (ms, run) => (given.after ? given.after(ms, run) : systemTimers.after(ms, run)),
    every: (ms, run) => (given.every ? given.every(ms, run) : systemTimers.every(ms, run)),
    sleep: (ms, signal) => (given.sleep ? given.sleep(ms, signal) : systemTimers.sleep(ms, signal)),
  }
}
