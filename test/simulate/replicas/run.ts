import { appendFileSync, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Alarm } from '../oracles/oracle.ts'
import { judgeMarks } from '../oracles/sometimes.ts'
import type { Outcome } from '../play/play.ts'
import { runFleetSeed } from './children.ts'
import { metByFleet } from './marks.ts'
import { drawFleetPlan } from './plan.ts'
import { fleetSabotages } from './sabotages.ts'
import { type Servers, startServers } from './servers.ts'

/** Fewer seeds cannot be asked to have met everything. */
const seedsForMarks = 100
/** A planted fault that so many seeds do not find is not found. */
const sabotageSeeds = 40
/** A seed waits for servers most of its time. */
const jobs = 2 * availableParallelism()

type Print = (line: string) => void

/** `simulate --replicas …`: several gateways. @returns the exit code */
export async function runReplicas(print: Print): Promise<number> {
  const { values } = parseArgs({
    options: {
      replicas: { type: 'boolean' },
      seeds: { type: 'string' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      shrink: { type: 'boolean', default: false },
      events: { type: 'boolean', default: false },
      sabotage: { type: 'string' },
    },
  })
  if (values.sabotage === 'list') {
    for (const { name, oracle, says } of fleetSabotages) print(`${name.padEnd(24)} ${oracle.padEnd(14)} ${says}`)
    return 0
  }
  const servers = await startServers()
  try {
    if (values.sabotage !== undefined) return await trySabotages(servers, values.sabotage, print)
    if (values.seed !== undefined) return await tellSeed(servers, Number(values.seed), values, print)
    if (values.seeds !== undefined) return await tryMany(servers, Number(values.from), Number(values.seeds), print)
  } finally {
    await servers.close()
  }
  print('simulate --replicas --seeds N [--from SEED] | --seed N [--shrink] [--events] | --sabotage NAME|all|list')
  return 2
}

const describe = ({ oracle, what }: Alarm): string => `${oracle}: ${what}`

async function tellSeed(
  servers: Servers,
  seed: number,
  { shrink, events }: { readonly shrink: boolean; readonly events: boolean },
  print: Print,
): Promise<number> {
  let outcome = await runFleetSeed(seed, servers, { story: print, events })
  const [first] = outcome.alarms
  if (shrink && first) {
    const skip = await leaveOut(servers, seed, describe(first))
    print(`\nWithout ${[...skip].join(',')}:\n`)
    outcome = await runFleetSeed(seed, servers, { skip, story: print })
  }
  for (const alarm of outcome.alarms) print(`ALARM ${describe(alarm)}\n      ${alarm.detail}`)
  if (outcome.alarms.length === 0) print('Every promise was kept.')
  print(JSON.stringify(outcome))
  return outcome.alarms.length === 0 ? 0 : 1
}

/** Leaves out halves, quarters, single operations, for as long as the alarm stays. */
async function leaveOut(servers: Servers, seed: number, alarm: string): Promise<ReadonlySet<number>> {
  const all = drawFleetPlan(seed).fleet.map(one => one.no)
  let skip: ReadonlySet<number> = new Set<number>()
  for (let size = Math.ceil(all.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < all.length; at += size) {
      const less = new Set([...skip, ...all.slice(at, at + size)])
      if (less.size === skip.size) continue
      const { alarms } = await runFleetSeed(seed, servers, { skip: less })
      if (alarms.some(one => describe(one) === alarm)) skip = less
    }
  return skip
}

async function tryMany(servers: Servers, from: number, count: number, print: Print): Promise<number> {
  const outcomes: Outcome[] = []
  const began = performance.now()
  const folder = resolve(import.meta.dirname, '../../../data/simulate')
  mkdirSync(folder, { recursive: true })
  let next = from
  const work = async (): Promise<void> => {
    while (next < from + count) {
      const outcome = await runFleetSeed(next++, servers)
      outcomes.push(outcome)
      appendFileSync(resolve(folder, 'replicas.jsonl'), `${JSON.stringify(outcome)}\n`)
      const alarmed = outcomes.filter(one => one.alarms.length > 0).length
      process.stderr.write(`\r${outcomes.length} of ${count} seeds, ${alarmed} with alarms `)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  process.stderr.write('\n')
  return sumUp(outcomes, Math.round((performance.now() - began) / 1_000), print)
}

function sumUp(outcomes: readonly Outcome[], seconds: number, print: Print): number {
  const kinds = new Map<string, number[]>()
  const marks: { [name: string]: number } = {}
  for (const { seed, alarms, marks: own } of outcomes) {
    for (const [name, times] of Object.entries(own)) marks[name] = (marks[name] ?? 0) + times
    for (const kind of new Set(alarms.map(describe))) kinds.set(kind, [...(kinds.get(kind) ?? []), seed])
  }
  if (outcomes.length >= seedsForMarks)
    for (const [what, name] of judgeMarks(marks, metByFleet)) kinds.set(`sometimes: ${what}: ${name}`, [])
  for (const [kind, seeds] of kinds) print(`${String(seeds.length).padStart(6)}  ${kind}  (seeds ${seeds.join(' ')})`)
  const sum = (pick: (outcome: Outcome) => number): number => outcomes.reduce((all, one) => all + pick(one), 0)
  const faults = Object.fromEntries(Object.entries(marks).filter(([name]) => !name.startsWith('shape')))
  const alarmed = outcomes.filter(one => one.alarms.length > 0).length
  const simulatedHours = Math.round(sum(one => one.simulatedMs) / 360_000) / 10
  print(
    JSON.stringify({
      seeds: outcomes.length,
      alarmed,
      requests: sum(one => one.asks),
      simulatedHours,
      seconds,
      faults,
    }),
  )
  return kinds.size === 0 ? 0 : 1
}

/** Each planted fault has to be found by its oracle, in a seed that is clean of that alarm without it. */
async function trySabotages(servers: Servers, name: string, print: Print): Promise<number> {
  const chosen = fleetSabotages.filter(one => name === 'all' || one.name === name)
  if (chosen.length === 0) throw new Error(`there is no planted fault '${name}': --sabotage list names them`)
  let missed = 0
  const queue = chosen.values()
  const work = async (): Promise<void> => {
    for (const sabotage of queue) {
      const tried = await findBySeeds(servers, sabotage)
      if (tried === undefined) missed++
      const told = tried === undefined ? 'NOT FOUND' : `found after ${tried} seeds`
      print(`${sabotage.name.padEnd(24)} ${sabotage.oracle.padEnd(14)} ${told}`)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  print(JSON.stringify({ planted: chosen.length, found: chosen.length - missed }))
  return missed === 0 ? 0 : 1
}

async function findBySeeds(
  servers: Servers,
  { name, oracle }: { readonly name: string; readonly oracle: string },
): Promise<number | undefined> {
  // Seeds that are tried at once have databases of their own: each planted fault takes others.
  const first = 1_000 * (1 + fleetSabotages.findIndex(one => one.name === name)) + 1
  for (let seed = first; seed < first + sabotageSeeds; seed++) {
    const { alarms } = await runFleetSeed(seed, servers, { sabotage: name, likes: name })
    const mine = new Set(alarms.flatMap(alarm => (alarm.oracle === oracle ? [alarm.what] : [])))
    if (alarms.some(alarm => alarm.what.includes('does not fit'))) throw new Error(alarms[0]?.detail)
    if (mine.size === 0) continue
    const { alarms: before } = await runFleetSeed(seed, servers, { likes: name })
    for (const alarm of before) mine.delete(alarm.what)
    if (mine.size > 0) return seed - first + 1
  }
  return undefined
}
