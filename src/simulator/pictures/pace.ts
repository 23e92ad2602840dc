import { setImmediate } from 'node:timers/promises'

/** Painting shares its thread with a gateway, so every turn of the event loop has to be short. */
const turnMsMax = 2

/** Measures the work in this turn of the event loop. */
export type Pace = {
  /** True if other work should run now. */
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
