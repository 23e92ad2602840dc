import { availableParallelism } from 'node:os'
import { runAll } from '../children.ts'
import { describe, type Many, tryMany } from '../many.ts'
import { shrink } from '../shrink.ts'
import { listSabotages, type Trial, trySabotages } from '../try-sabotages.ts'
import { runFleet } from './children.ts'
import { metByFleet } from './marks.ts'
import { drawFleetPlan } from './plan.ts'
import { recordFleet } from './record.ts'
import { fleetSabotages } from './sabotages.ts'
import { type Servers, startServers } from './servers.ts'

/** A planted fault that this many seeds do not find counts as not found. */
const seedsMost = 40
/** A seed waits for servers most of its time. */
const jobs = 2 * availableParallelism()

type Print = (line: string) => void

/** The options. */
export type ReplicasAsked = {
  readonly seed: number | undefined
  readonly many: Omit<Many, 'kept' | 'run' | 'marks'> | undefined
  readonly sabotage: string | undefined
  readonly shrink: boolean
  readonly events: boolean
  readonly record: boolean
  readonly print: Print
}

/** `simulate --replicas …`: several gateways. @returns the exit code */
export async function runReplicas(options: ReplicasAsked): Promise<number> {
  const { seed, many, sabotage, print } = options
  if (sabotage === 'list') return listSabotages(print, fleetSabotages)
  const servers = await startServers()
  try {
    if (seed !== undefined) return await tellSeed(servers, seed, options)
    if (sabotage !== undefined) return await trySabotages(sabotage, print, trialOf(servers))
    if (many) return await tryMany({ ...many, ...manyOn(servers) })
  } finally {
    await servers.close()
  }
  process.stderr.write(
    'simulate --replicas --seeds N [--from SEED] [--coverage] [--json FILE] | --seed N [--shrink] [--record] [--sabotage NAME] [--events] | --sabotage NAME|all|list\n',
  )
  return 2
}

function manyOn(servers: Servers): Pick<Many, 'kept' | 'run' | 'marks'> {
  return {
    kept: 'replicas-',
    marks: metByFleet,
    run(seeds, take, coverage) {
      const options = coverage === undefined ? {} : { coverage }
      return runAll(seeds, seed => runFleet(drawFleetPlan(seed), servers, options), take, jobs)
    },
  }
}

/**
 * A planted fault gets its conditions more often, and seeds of its own: concurrent ones have databases of their own.
 */
function trialOf(servers: Servers): Trial {
  return {
    among: fleetSabotages,
    seedsMost,
    jobs,
    firstFor: ({ name }) => 1_000 * (1 + fleetSabotages.findIndex(one => one.name === name)) + 1,
    run(seed, { name }, isPlanted) {
      const plan = drawFleetPlan(seed, likesOf(name))
      return runFleet(plan, servers, isPlanted ? { sabotage: name } : {})
    },
  }
}

function likesOf(name: string) {
  return fleetSabotages.find(one => one.name === name)?.likes
}

async function tellSeed(
  servers: Servers,
  seed: number,
  { shrink: isShrunk, events, record, sabotage, print }: ReplicasAsked,
): Promise<number> {
  const planted = sabotage === undefined ? {} : { sabotage }
  let plan = drawFleetPlan(seed, sabotage === undefined ? [] : likesOf(sabotage))
  let outcome = await runFleet(plan, servers, { ...planted, story: print, events })
  const [first] = outcome.alarms
  if (isShrunk && first) {
    print(`\nShrinking "${describe(first)}" …`)
    const shrunk = await shrink(plan, first, less => runFleet(less, servers, planted), shrinksMost)
    plan = shrunk.plan
    print(`${plan.operations.length} operations are left after ${shrunk.runs} runs:\n`)
    outcome = await runFleet(plan, servers, { ...planted, story: print })
  }
  for (const alarm of outcome.alarms) print(`ALARM ${describe(alarm)}\n      ${alarm.detail}`)
  if (outcome.alarms.length === 0) print('Every promise was kept.')
  // In the format of seeds.json.
  if (record) print(JSON.stringify(recordFleet(plan)))
  print(JSON.stringify(outcome))
  return outcome.alarms.length === 0 ? 0 : 1
}

/** Reports a seed that takes seconds. */
const shrinksMost = 120
