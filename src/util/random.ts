import { randomBytes } from 'node:crypto'

/** Randomness is injected, so that tests control it. */
export type Random = {
  /** So many unpredictable bytes. */
  bytes(size: number): Buffer
  /** At least 0, less than 1; good enough for a choice, not for a secret. */
  unit(): number
}

export const systemRandom: Random = { bytes: size => randomBytes(size), unit: () => Math.random() }
