import { runSeed } from './children.ts'
import type { Alarm } from './oracles/oracle.ts'
import { drawPlan } from './play/plan.ts'

/** What is left of a plan that still ends in the same alarm. */
export type Shrunk = { readonly skip: ReadonlySet<number>; readonly left: number; readonly runs: number }

/** Leaves out halves, quarters, single operations of a seed's plan, for as long as the alarm stays. */
export async function shrink(seed: number, { oracle, what }: Pick<Alarm, 'oracle' | 'what'>): Promise<Shrunk> {
  const all = drawPlan(seed).operations.map(one => one.no)
  let skip: ReadonlySet<number> = new Set<number>()
  let runs = 0
  for (let size = Math.ceil(all.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < all.length; at += size) {
      const less = new Set([...skip, ...all.slice(at, at + size)])
      if (less.size === skip.size) continue
      runs++
      const { alarms } = await runSeed(seed, { skip: less })
      if (alarms.some(alarm => alarm.oracle === oracle && alarm.what === what)) skip = less
    }
  return { skip, left: all.length - skip.size, runs }
}
