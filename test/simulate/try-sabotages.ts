import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { runSeed } from './children.ts'
import { findCode } from './find-code.ts'
import type { Outcome } from './play/play.ts'
import { type Sabotage, sabotages } from './sabotage.ts'

const root = resolve(import.meta.dirname, '../..')
/** A planted fault that this many seeds do not find counts as not found. */
const seedsMost = 120
/** To conclude that a mark no longer occurs, this many seeds must run. */
const seedsForMark = 60

type Tried = { readonly sabotage: Sabotage; readonly seeds: number | undefined; readonly says: string }
type Print = (line: string) => void

/** How to search for planted faults. */
export type Trial = {
  readonly among: readonly Sabotage[]
  /** The first seed for one, and the number of seeds after which it counts as not found. */
  readonly firstFor: (sabotage: Sabotage) => number
  readonly seedsMost: number
  /** The outcome of a seed for this fault, with it or without. */
  readonly run: (seed: number, sabotage: Sabotage, isPlanted: boolean) => Promise<Outcome>
  /** The number of concurrent runs. */
  readonly jobs: number
}

/** The faults of one gateway. The outcome of a seed without any is computed once. */
function trialOfOne(): Trial {
  const clean = new Map<number, Promise<Outcome>>()
  return {
    among: sabotages,
    firstFor: () => 1,
    seedsMost,
    jobs: availableParallelism(),
    run(seed, { name }, isPlanted) {
      if (isPlanted) return runSeed(seed, { sabotage: name })
      const outcome = clean.get(seed) ?? runSeed(seed)
      clean.set(seed, outcome)
      return outcome
    },
  }
}

export function listSabotages(print: Print, among: readonly Sabotage[] = sabotages): number {
  for (const { name, oracle, says } of among) print(`${name.padEnd(24)} ${oracle.padEnd(14)} ${says}`)
  return 0
}

/** Text that planted faults search for and that the current sources do not contain. */
export function unfitting(among: readonly Sabotage[] = sabotages): readonly string[] {
  return among.flatMap(({ name, edits }) =>
    edits.flatMap(([file, find]) =>
      existsSync(resolve(root, file)) && findCode(readFileSync(resolve(root, file), 'utf8'), find)
        ? []
        : [`${name}: ${file}: ${find}`],
    ),
  )
}

/** Each planted fault has to be found by its oracle, in a seed that does not raise that alarm without it. */
export async function trySabotages(name: string, print: Print, trial: Trial = trialOfOne()): Promise<number> {
  const chosen = trial.among.filter(one => (name === 'all' ? !one.isRare : one.name === name))
  if (chosen.length === 0) throw new Error(`there is no planted fault '${name}': --sabotage list names them`)
  const unfit = unfitting(trial.among)
  if (unfit.length > 0) throw new Error(`planted faults do not fit any more:\n${unfit.join('\n')}`)
  const queue = chosen.values()
  const tried: Tried[] = []
  const work = async (): Promise<void> => {
    for (const sabotage of queue) {
      const one = sabotage.mark === undefined ? await findBySeeds(sabotage, trial) : await findByMark(sabotage, trial)
      tried.push(one)
      process.stderr.write(`${tried.length} of ${chosen.length}: ${sabotage.name} ${one.seeds ?? 'NOT FOUND'}\n`)
    }
  }
  await Promise.all(Array.from({ length: trial.jobs }, work))
  tried.sort((a, b) => chosen.indexOf(a.sabotage) - chosen.indexOf(b.sabotage))
  print(`${'oracle'.padEnd(14)} ${'planted fault'.padEnd(24)}  seeds  what it says`)
  for (const { sabotage, seeds, says } of tried)
    print(`${sabotage.oracle.padEnd(14)} ${sabotage.name.padEnd(24)} ${String(seeds ?? 'MISSED').padStart(6)}  ${says}`)
  const found = tried.flatMap(one => one.seeds ?? []).sort((a, b) => a - b)
  print(JSON.stringify({ planted: chosen.length, found: found.length, medianSeeds: found[found.length >> 1] ?? null }))
  return found.length === chosen.length ? 0 : 1
}

async function findBySeeds(sabotage: Sabotage, { run, firstFor, seedsMost: most }: Trial): Promise<Tried> {
  const first = firstFor(sabotage)
  const known = sabotage.seed === undefined ? [] : [sabotage.seed]
  const seeds = [...known, ...Array.from({ length: most }, (_, i) => first + i)]
  for (const [i, seed] of seeds.entries()) {
    const { alarms } = await run(seed, sabotage, true)
    const mine = new Set(alarms.flatMap(alarm => (alarm.oracle === sabotage.oracle ? [alarm.what] : [])))
    if (mine.size === 0) continue
    for (const alarm of (await run(seed, sabotage, false)).alarms) mine.delete(alarm.what)
    const [says] = mine
    if (says !== undefined) return { sabotage, seeds: i + 1, says }
  }
  return { sabotage, seeds: undefined, says: '' }
}

/** A mark that occurs without the fault does not occur with it, in the same seeds. */
async function findByMark(sabotage: Sabotage, { run, firstFor }: Trial): Promise<Tried> {
  const mark = sabotage.mark ?? ''
  const first = firstFor(sabotage)
  let without = 0
  for (let seed = first; seed < first + seedsForMark; seed++) {
    const { marks } = await run(seed, sabotage, true)
    if (marks[mark]) return { sabotage, seeds: undefined, says: `${mark} is met all the same` }
    without += (await run(seed, sabotage, false)).marks[mark] ?? 0
    // Three misses are not a coincidence.
    if (without >= 3) return { sabotage, seeds: seed - first + 1, says: `never met: ${mark}` }
  }
  return { sabotage, seeds: undefined, says: `${mark} is hardly met at all` }
}
