import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { runPlan, runSeeds } from './children.ts'
import { Coverage } from './coverage.ts'
import { describe, tryMany } from './many.ts'
import { tryNth } from './nth.ts'
import { drawPlan } from './play/plan.ts'
import type { Outcome } from './play/play.ts'
import { runReplicas } from './replicas/run.ts'
import { recordPlan } from './play/record.ts'
import { plantFault } from './sabotage.ts'
import { listSabotages, trySabotages } from './try-sabotages.ts'
import { shrink } from './shrink.ts'

const root = resolve(import.meta.dirname, '../..')

const { values } = parseArgs({
  options: {
    replicas: { type: 'boolean', default: false },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    sluggish: { type: 'boolean', default: false },
    format: { type: 'string', default: 'text' },
    sabotage: { type: 'string' },
    nth: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
    json: { type: 'string' },
    power: { type: 'string' },
    traced: { type: 'boolean', default: false },
  },
})
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const isJson = values.format === 'json'

process.exitCode = values.replicas ? await tellReplicas() : await main()

async function main(): Promise<number> {
  if (values.power !== undefined) return takePower(readWhole('power', values.power), readWhole('from', values.from))
  if (values.sabotage === 'list') return listSabotages(print)
  if (values.seed === undefined && values.sabotage !== undefined) return trySabotages(values.sabotage, print)
  if (values.nth) return tryNth(print)
  if (values.seed !== undefined) return tellSeed(readWhole('seed', values.seed))
  if (values.seeds !== undefined) return tryMany({ ...askedMany(values.seeds), kept: '', run: runOne })
  process.stderr.write(
    'simulate [--replicas] --seeds N [--from SEED] [--coverage] [--json FILE] | --seed N [--shrink] [--record] [--sluggish] [--sabotage NAME] [--format json] | --nth | --sabotage NAME|all|list | --power N [--traced]\n',
  )
  return 2
}

function tellReplicas(): Promise<number> {
  const { seed, seeds, sabotage } = values
  return runReplicas({
    ...values,
    seed: seed === undefined ? undefined : readWhole('seed', seed),
    many: seeds === undefined ? undefined : askedMany(seeds),
    sabotage,
    print,
  })
}

function askedMany(seeds: string) {
  const { coverage, json, from } = values
  return {
    from: readWhole('from', from),
    count: readWhole('seeds', seeds),
    json,
    isJson,
    print,
    coverage: coverage ? new Coverage(root) : undefined,
  }
}

function runOne(seeds: readonly number[], take: (outcome: Outcome) => void, coverage: string | undefined) {
  return runSeeds(seeds, take, coverage === undefined ? {} : { coverage })
}

function readWhole(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} is a whole number, not '${text}'`)
  return number
}

async function tellSeed(seed: number): Promise<number> {
  const tell = isJson ? undefined : print
  const { sabotage } = values
  const options = { ...(sabotage !== undefined && { sabotage }), ...(tell && { story: tell }) }
  let plan = drawPlan(seed)
  let outcome = await runPlan(plan, { ...options, events: values.events, sluggish: values.sluggish })
  const [first] = outcome.alarms
  if (values.shrink && first) {
    tell?.(`\nShrinking "${describe(first)}" …`)
    const shrunk = await shrink(plan, first, less => runPlan(less, sabotage === undefined ? {} : { sabotage }))
    plan = shrunk.plan
    tell?.(`${plan.operations.length} operations are left after ${shrunk.runs} runs:\n`)
    outcome = await runPlan(plan, options)
  }
  tell?.('')
  for (const alarm of outcome.alarms) tell?.(`ALARM ${describe(alarm)}\n      ${alarm.detail}`)
  if (outcome.alarms.length === 0) tell?.('Every promise was kept.')
  // In the format of seeds.json.
  if (values.record) print(JSON.stringify(recordPlan(plan)))
  print(JSON.stringify(outcome))
  return outcome.alarms.length === 0 ? 0 : 1
}

/** A fault may be planted in it, so its modules are loaded here. */
async function takePower(count: number, seed: number): Promise<number> {
  if (values.sabotage !== undefined) plantFault(values.sabotage)
  const { losePower } = await import('./power/battery.ts')
  const tell = (done: number): void => void process.stderr.write(`\r${done} of ${count} losses of power `)
  const result = await losePower(count, seed, values.traced, tell)
  process.stderr.write('\n')
  for (const problem of result.problems.slice(0, 20)) print(problem)
  for (const order of result.strange) print(`the recorder does not know the order: ${order}`)
  print(JSON.stringify({ ...result, problems: result.problems.length }))
  return result.problems.length + result.strange.length === 0 ? 0 : 1
}
