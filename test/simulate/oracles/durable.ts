import type { Oracle } from './oracle.ts'

/** What somebody was told of is on the disk: no death and no loss of power takes it away, or leaves half of anything. */
export const durable: Oracle = {
  name: 'durable',
  promise: 'A commit that was acknowledged is there whatever the disk forgets, and no other is half there.',
  *judge({ stage }) {
    for (const [life, { how, open, problem }] of stage.lives.damages.entries())
      if (problem !== undefined)
        yield [`${how}: ${problem}`, `life ${life} ended with ${open} operations on the disk that were not synced`]
  },
}
