import { availableParallelism } from 'node:os'
import { type Nth, runPlan } from './children.ts'
import type { Alarm } from './oracles/oracle.ts'
import { nthPlan } from './play/nth-plan.ts'
import type { Outcome } from './play/play.ts'

/** A story with more statements than this is too long for this battery. */
const numberMost = 1_000

/**
 * Plays one short story repeatedly: each time the n-th statement, and then the n-th commit, fails, for n = 1, 2, 3 …,
 * until the story ends before reaching n.
 */
export async function tryNth(print: (line: string) => void): Promise<number> {
  let alarmed = 0
  for (const kind of ['statement', 'commit'] as const) {
    const failed = await tryAll(kind, (nth, alarms) => {
      alarmed++
      for (const { oracle, what, detail } of alarms) print(`${kind} ${nth.number}: ${oracle}: ${what}\n      ${detail}`)
    })
    print(`each of ${failed} ${kind}s failed once`)
  }
  print(JSON.stringify({ alarmed }))
  return alarmed === 0 ? 0 : 1
}

/** @returns their number */
export async function tryAll(
  of: Nth['of'],
  tell: (nth: Nth, alarms: readonly Alarm[]) => void,
  most = numberMost,
): Promise<number> {
  let next = 1
  let last = most
  const mark = of === 'commit' ? 'fault: disk full' : 'fault: statement fails'
  const work = async (): Promise<void> => {
    while (next <= last) {
      const nth = { of, number: next++ }
      const outcome: Outcome = await runPlan(nthPlan, { nth })
      if (outcome.alarms.length > 0) tell(nth, outcome.alarms)
      if (!outcome.marks[mark]) last = Math.min(last, nth.number - 1)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return last
}
