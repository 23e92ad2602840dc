import { setImmediate } from 'node:timers/promises'

/** Painting shares its thread with a gateway: no turn of the event loop may be long. */
const turnMsMax = 2

/** Counts the time that work has taken in this turn of the event loop. */
export type Pace = {
  /** True when it is time to let others run. */
  spent(): boolean
  /** Resolves in a later turn. */
  rest(): Promise<void>
}

export function createPace(): Pace {
  let since = performance.now()
  return {
    spent: () => performance.now() - since > turnMsMax,
    async rest() {
      await setImmediate()
      since = performance.now()
    },
  }
}
