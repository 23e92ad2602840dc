import type { LimitState, Standing } from '../../src/kit/index.ts'
import { indexOfMost } from './index-of-most.ts'
import type { Limit } from './limits.ts'

/** Where the tightest limit of each kind stands, as callers are told. Of what refuses nobody they are told nothing. */
export function limitStates(limits: readonly Limit[], standings: readonly Standing[]): readonly LimitState[] {
  const states: LimitState[] = []
  for (const kind of ['requests', 'tokens'] as const) {
    const told = limits.flatMap(({ counts, limit, shadow }, i) => {
      const { remaining, resetMs } = standings[i] as Standing
      return counts === kind && !shadow ? [{ kind, limit, remaining, resetMs }] : []
    })
    // The least left; of several the one that takes longest to be free again.
    const tightest = told[indexOfMost(told, (a, b) => b.remaining - a.remaining || a.resetMs - b.resetMs)]
    if (tightest) states.push(tightest)
  }
  return states
}
