import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { runPlan, runSeeds } from './children.ts'
import { Coverage, type Reached } from './coverage.ts'
import { tryNth } from './nth.ts'
import { judgeMarks } from './oracles/sometimes.ts'
import type { Alarm } from './oracles/oracle.ts'
import { drawPlan } from './play/plan.ts'
import type { Outcome } from './play/play.ts'
import { runReplicas } from './replicas/run.ts'
import { recordPlan } from './play/record.ts'
import { plantFault } from './sabotage.ts'
import { listSabotages, trySabotages } from './try-sabotages.ts'
import { shrink } from './shrink.ts'

const root = resolve(import.meta.dirname, '../..')
/** Fewer seeds cannot be asked to have met everything. */
const seedsForMarks = 100

const { values } = parseArgs({
  options: {
    replicas: { type: 'boolean', default: false },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
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

process.exitCode = process.argv.includes('--replicas') ? await runReplicas(print) : await main()

async function main(): Promise<number> {
  if (values.power !== undefined) return takePower(readWhole('power', values.power), readWhole('from', values.from))
  if (values.sabotage === 'list') return listSabotages(print)
  if (values.seed === undefined && values.sabotage !== undefined) return trySabotages(values.sabotage, print)
  if (values.nth) return tryNth(print)
  if (values.seed !== undefined) return tellSeed(readWhole('seed', values.seed))
  if (values.seeds !== undefined) return tryMany(readWhole('from', values.from), readWhole('seeds', values.seeds))
  process.stderr.write(
    'simulate [--replicas] --seeds N [--from SEED] [--coverage] [--json FILE] | --seed N [--shrink] [--record] [--sabotage NAME] [--format json] | --nth | --sabotage NAME|all|list | --power N [--traced]\n',
  )
  return 2
}

function readWhole(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} is a whole number, not '${text}'`)
  return number
}

function describe({ oracle, what }: Alarm): string {
  return `${oracle}: ${what}`
}

async function tellSeed(seed: number): Promise<number> {
  const tell = isJson ? undefined : print
  const { sabotage } = values
  const options = { ...(sabotage !== undefined && { sabotage }), ...(tell && { story: tell }) }
  let plan = drawPlan(seed)
  let outcome = await runPlan(plan, { ...options, events: values.events })
  const [first] = outcome.alarms
  if (values.shrink && first) {
    tell?.(`\nShrinking "${describe(first)}" …`)
    const shrunk = await shrink(plan, first, sabotage === undefined ? {} : { sabotage })
    plan = shrunk.plan
    tell?.(`${plan.operations.length} operations are left after ${shrunk.runs} runs:\n`)
    outcome = await runPlan(plan, options)
  }
  tell?.('')
  for (const alarm of outcome.alarms) tell?.(`ALARM ${describe(alarm)}\n      ${alarm.detail}`)
  if (outcome.alarms.length === 0) tell?.('Every promise was kept.')
  // As seeds.json keeps it.
  if (values.record) print(JSON.stringify(recordPlan(plan)))
  print(JSON.stringify(outcome))
  return outcome.alarms.length === 0 ? 0 : 1
}

/** Everything that decides what a seed comes to: outcomes of the same are not worked out again. */
function fingerprint(): string {
  const hash = createHash('sha256')
  const files = globSync(['src/**/*.ts', 'plugins/**/*.ts', 'test/simulate/**/*.ts', 'test/harness/*.ts'], {
    cwd: root,
  })
  for (const file of ['gateway.yaml', ...files.sort()]) hash.update(file).update(readFileSync(resolve(root, file)))
  return hash.digest('hex').slice(0, 16)
}

async function tryMany(from: number, count: number): Promise<number> {
  const folder = resolve(root, 'data/simulate')
  mkdirSync(folder, { recursive: true })
  const file = resolve(folder, `${fingerprint()}.jsonl`)
  const known = new Map<number, Outcome>()
  const coverage = values.coverage ? new Coverage(root) : undefined
  const covered = resolve(folder, `coverage-${process.pid}`)
  // What was reached has to be worked out anew.
  if (existsSync(file) && !coverage)
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (!line.endsWith('}')) continue
      const outcome = JSON.parse(line) as Outcome
      known.set(outcome.seed, outcome)
    }
  const wanted = Array.from({ length: count }, (_, i) => from + i)
  const outcomes = wanted.flatMap(seed => known.get(seed) ?? [])
  const beganAt = performance.now()
  if (outcomes.length > 0) process.stderr.write(`${outcomes.length} seeds are known from before (${file})\n`)
  const take = (outcome: Outcome): void => {
    outcomes.push(outcome)
    coverage?.take(resolve(covered, String(outcome.seed)))
    appendFileSync(file, `${JSON.stringify(outcome)}\n`)
    const alarmed = outcomes.filter(one => one.alarms.length > 0).length
    process.stderr.write(`\r${outcomes.length} of ${count} seeds, ${alarmed} with alarms `)
  }
  await runSeeds(
    wanted.filter(seed => !known.has(seed)),
    take,
    coverage ? { coverage: covered } : {},
  )
  rmSync(covered, { recursive: true, force: true })
  process.stderr.write('\n')
  return sumUp(outcomes, performance.now() - beganAt, coverage?.sum())
}

function sumUp(
  outcomes: readonly Outcome[],
  tookMs: number,
  coverage: { readonly [part: string]: Reached } | undefined,
): number {
  const marks: { [name: string]: number } = {}
  const kinds = new Map<string, number[]>()
  for (const { seed, alarms, marks: own } of outcomes) {
    for (const [name, times] of Object.entries(own)) marks[name] = (marks[name] ?? 0) + times
    for (const kind of new Set(alarms.map(describe))) kinds.set(kind, [...(kinds.get(kind) ?? []), seed])
  }
  if (outcomes.length >= seedsForMarks)
    for (const [what, detail] of judgeMarks(marks)) kinds.set(`sometimes: ${what}: ${detail}`, [])
  for (const [kind, seeds] of [...kinds].sort((a, b) => b[1].length - a[1].length))
    print(
      `${String(seeds.length).padStart(6)}  ${kind}  (seeds ${seeds
        .sort((a, b) => a - b)
        .slice(0, 5)
        .join(' ')})`,
    )
  const sum = (pick: (outcome: Outcome) => number): number => outcomes.reduce((all, one) => all + pick(one), 0)
  const alarmed = outcomes.filter(one => one.alarms.length > 0).map(one => one.seed)
  const result = {
    seeds: outcomes.length,
    alarmed: alarmed.length,
    kinds: kinds.size,
    requests: sum(one => one.asks),
    happenings: sum(one => one.happened),
    simulatedDays: Number((sum(one => one.simulatedMs) / 86_400_000).toFixed(2)),
    seconds: Math.round(tookMs / 1_000),
    faults: Object.fromEntries(Object.entries(marks).filter(([name]) => name.startsWith('fault: '))),
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ ...result, marks, coverage })}\n`)
  for (const [part, { lines, linesAll, branches, branchesAll }] of isJson ? [] : Object.entries(coverage ?? {}))
    print(`${part.padEnd(12)} lines ${share(lines, linesAll)}, branches ${share(branches, branchesAll)} reached`)
  print(
    isJson ? JSON.stringify({ ...result, alarms: Object.fromEntries(kinds), marks, coverage }) : describeResult(result),
  )
  return kinds.size === 0 ? 0 : 1
}

function share(some: number, all: number): string {
  return `${some} of ${all} (${Math.round((100 * some) / Math.max(1, all))} %)`
}

function describeResult(result: {
  readonly seeds: number
  readonly alarmed: number
  readonly kinds: number
  readonly requests: number
  readonly simulatedDays: number
  readonly seconds: number
}): string {
  const { seeds, alarmed, kinds, requests, simulatedDays, seconds } = result
  return `${seeds} seeds, ${requests} requests, ${simulatedDays} simulated days in ${seconds} s: ${alarmed} seeds with alarms of ${kinds} kinds`
}

/** A fault may be planted in it: its modules are loaded here. */
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
