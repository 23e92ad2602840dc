import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { runSeed } from './children.ts'
import type { Outcome } from './play/play.ts'
import { type Sabotage, sabotages } from './sabotage.ts'

const root = resolve(import.meta.dirname, '../..')
/** A planted fault that so many seeds do not find is not found. */
const seedsMost = 120
/** Where something is never met any more, so many seeds have to say. */
const seedsForMark = 60

type Tried = { readonly sabotage: Sabotage; readonly seeds: number | undefined; readonly says: string }
type Print = (line: string) => void

export function listSabotages(print: Print): number {
  for (const { name, oracle, says } of sabotages) print(`${name.padEnd(24)} ${oracle.padEnd(14)} ${says}`)
  return 0
}

/** Text of the present sources that planted faults look for and do not find. */
export function unfitting(): readonly string[] {
  return sabotages.flatMap(({ name, edits }) =>
    edits.flatMap(([file, find]) =>
      readFileSync(resolve(root, file), 'utf8').includes(find) ? [] : [`${name}: ${file}: ${find}`],
    ),
  )
}

/** Each planted fault has to be found by its oracle, in a seed that is clean of that alarm without it. */
export async function trySabotages(name: string, print: Print): Promise<number> {
  const chosen = sabotages.filter(one => name === 'all' || one.name === name)
  if (chosen.length === 0) throw new Error(`there is no planted fault '${name}': --sabotage list names them`)
  const unfit = unfitting()
  if (unfit.length > 0) throw new Error(`planted faults do not fit any more:\n${unfit.join('\n')}`)
  const clean = new Clean()
  const queue = chosen.values()
  const tried: Tried[] = []
  const work = async (): Promise<void> => {
    for (const sabotage of queue) {
      const one = sabotage.mark === undefined ? await findBySeeds(sabotage, clean) : await findByMark(sabotage, clean)
      tried.push(one)
      process.stderr.write(`${tried.length} of ${chosen.length}: ${sabotage.name} ${one.seeds ?? 'NOT FOUND'}\n`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  tried.sort((a, b) => chosen.indexOf(a.sabotage) - chosen.indexOf(b.sabotage))
  print(`${'oracle'.padEnd(14)} ${'planted fault'.padEnd(24)}  seeds  what it says`)
  for (const { sabotage, seeds, says } of tried)
    print(`${sabotage.oracle.padEnd(14)} ${sabotage.name.padEnd(24)} ${String(seeds ?? 'MISSED').padStart(6)}  ${says}`)
  const found = tried.flatMap(one => one.seeds ?? []).sort((a, b) => a - b)
  print(JSON.stringify({ planted: chosen.length, found: found.length, medianSeeds: found[found.length >> 1] ?? null }))
  return found.length === chosen.length ? 0 : 1
}

/** What seeds come to with nothing planted; each is run once. */
class Clean {
  readonly #outcomes = new Map<number, Promise<Outcome>>()

  of(seed: number): Promise<Outcome> {
    const outcome = this.#outcomes.get(seed) ?? runSeed(seed)
    this.#outcomes.set(seed, outcome)
    return outcome
  }
}

async function findBySeeds(sabotage: Sabotage, clean: Clean): Promise<Tried> {
  const { name, oracle } = sabotage
  for (let seed = 1; seed <= seedsMost; seed++) {
    const { alarms } = await runSeed(seed, { sabotage: name })
    const mine = new Set(alarms.flatMap(alarm => (alarm.oracle === oracle ? [alarm.what] : [])))
    if (mine.size === 0) continue
    for (const alarm of (await clean.of(seed)).alarms) mine.delete(alarm.what)
    const [says] = mine
    if (says !== undefined) return { sabotage, seeds: seed, says }
  }
  return { sabotage, seeds: undefined, says: '' }
}

/** Something that is met without it is not met with it, in as many seeds. */
async function findByMark(sabotage: Sabotage, clean: Clean): Promise<Tried> {
  const mark = sabotage.mark ?? ''
  let without = 0
  for (let seed = 1; seed <= seedsForMark; seed++) {
    const { marks } = await runSeed(seed, { sabotage: sabotage.name })
    if (marks[mark]) return { sabotage, seeds: undefined, says: `${mark} is met all the same` }
    without += (await clean.of(seed)).marks[mark] ?? 0
    // Three that are missed are no accident.
    if (without >= 3) return { sabotage, seeds: seed, says: `never met: ${mark}` }
  }
  return { sabotage, seeds: undefined, says: `${mark} is hardly met at all` }
}
