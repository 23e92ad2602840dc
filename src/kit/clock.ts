/** Time is handed in, so that tests decide it. */
export type Clock = {
  /** Milliseconds since the epoch, for records. */
  now(): number
  /** Milliseconds that only ever grow, for limits and durations. */
  tick(): number
}

export const systemClock: Clock = { now: () => Date.now(), tick: () => performance.now() }
