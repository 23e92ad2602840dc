import type { Clock } from '../util/index.ts'
import type { Writing } from './writing.ts'
import type { Change, Given, Gives } from './ops.ts'

/** Called for a change that a caller waited for: its name, its duration, and whether it is known to be committed. */
export type CommitWatch = (change: string, durationMs: number, committed: boolean) => void

/** A writer whose changes in progress are counted and timed. */
export function watchCommits(
  writer: Writing,
  clock: Clock,
  watch: CommitWatch | undefined,
): { readonly writer: Writing; underWay(this: void): number } {
  let underWay = 0
  async function submit<C extends Change>(change: C, given: Given<C>): Promise<Gives<C>> {
    const startedAt = clock.tick()
    let committed = false
    underWay++
    try {
      const gives = await writer.submit(change, given)
      committed = true
      return gives
    } finally {
      underWay--
      watch?.(change, clock.tick() - startedAt, committed)
    }
  }
  return {
    writer: {
      submit,
      touch: () => writer.touch(),
      flush: () => writer.flush(),
      healthy: () => writer.healthy(),
      trouble: () => writer.trouble(),
      onRecovered: call => writer.onRecovered(call),
    },
    underWay: () => underWay,
  }
}
