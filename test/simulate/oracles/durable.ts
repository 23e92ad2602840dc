import type { Oracle } from './oracle.ts'

/** Acknowledged data is on the disk: no crash and no power loss removes it, or leaves half of a record. */
export const durable: Oracle = {
  name: 'durable',
  promise: 'A commit that was acknowledged is there whatever the disk forgets, and no other is half there.',
  *judge({ stage }) {
    for (const [life, { how, open, problem }] of stage.lives.damages.entries())
      if (problem !== undefined)
        yield [`${how}: ${problem}`, `life ${life} ended with ${open} operations on the disk that were not synced`]
  },
}
