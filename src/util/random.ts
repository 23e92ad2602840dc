import { randomBytes } from 'node:crypto'

/** Randomness is injected, so that tests control it. */
export type Random = {
  /** Returns `size` unpredictable bytes. */
  bytes(size: number): Buffer
  /** Returns a number from 0 to below 1: good enough for a choice, not for a secret. */
  unit(): number
}

export const systemRandom: Random = { bytes: size => randomBytes(size), unit: () => Math.random() }
