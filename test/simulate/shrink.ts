import type { Alarm } from './oracles/oracle.ts'
import type { Operated } from './play/plan.ts'
import type { Outcome } from './play/play.ts'
import { plainWish } from './play/record.ts'

/** The parts of an operation that can be reduced. */
type Least = Pick<Operated, 'gap' | 'count' | 'wish'>
type Shrinking<O> = { readonly operations: readonly O[] }

/** The rest of a plan that still ends in the same alarm. */
export type Shrunk<P> = { readonly plan: P; readonly runs: number }

/**
 * Removes halves, quarters and single operations of a plan, and then reduces each remaining one as far as the alarm
 * allows; repeated until nothing more can be removed. The alarm has to stay the same: its oracle and its general rule.
 * After `runsMax` runs the result is good enough.
 */
export async function shrink<O extends Least, P extends Shrinking<O>>(
  plan: P & Shrinking<O>,
  { oracle, what }: Pick<Alarm, 'oracle' | 'what'>,
  run: (plan: P & Shrinking<O>) => Promise<Outcome>,
  runsMax = 250,
): Promise<Shrunk<P>> {
  let best = plan
  let runs = 0
  const tries = async (operations: readonly O[]): Promise<boolean> => {
    if (runs >= runsMax) return false
    runs++
    const smaller = { ...best, operations }
    const { alarms } = await run(smaller)
    const stays = alarms.some(alarm => alarm.oracle === oracle && alarm.what === what)
    if (stays) best = smaller
    return stays
  }
  for (let before = ''; before !== JSON.stringify(best); ) {
    before = JSON.stringify(best)
    await leaveOut(() => best.operations, tries)
    await simplify(() => best.operations, tries)
  }
  return { plan: best, runs }
}

type Tries<O> = (operations: readonly O[]) => Promise<boolean>

async function leaveOut<O>(now: () => readonly O[], tries: Tries<O>): Promise<void> {
  for (let size = Math.ceil(now().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < now().length; ) {
      const isGone = await tries(now().toSpliced(at, size))
      if (!isGone) at += size
    }
}

/** Simplifications, and how to apply them. */
const simpler: readonly (<O extends Least>(operated: O) => O)[] = [
  operated => ({ ...operated, gap: 0 }),
  operated => ({ ...operated, count: Math.ceil(operated.count / 2) }),
  operated => ({ ...operated, wish: { ...operated.wish, n: 1 } }),
  operated => ({ ...operated, wish: { ...operated.wish, wire: 'plain' } }),
  operated => ({ ...operated, wish: { ...operated.wish, coding: undefined } }),
  operated => ({ ...operated, wish: { ...operated.wish, leaves: undefined, leavesBytes: undefined } }),
  operated => ({ ...operated, wish: { ...operated.wish, idempotency: undefined } }),
  operated => ({ ...operated, wish: { ...operated.wish, connection: plainWish.connection } }),
  operated => ({ ...operated, wish: { ...operated.wish, shapes: operated.wish.shapes.slice(0, 1) } }),
  operated => ({ ...operated, wish: { ...operated.wish, size: undefined, render: undefined } }),
]

async function simplify<O extends Least>(now: () => readonly O[], tries: Tries<O>): Promise<void> {
  for (let at = 0; at < now().length; at++)
    for (const simplified of simpler) {
      const operated = now()[at]
      if (!operated) return
      const less = simplified(operated)
      if (JSON.stringify(less) !== JSON.stringify(operated)) await tries(now().with(at, less))
    }
}
