import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Coverage } from './coverage.ts'
import type { Alarm } from './oracles/oracle.ts'
import { judgeMarks } from './oracles/sometimes.ts'
import type { Outcome } from './play/play.ts'

const root = resolve(import.meta.dirname, '../..')
/** With fewer seeds, a missing mark is not a fault. */
const seedsForMarks = 100

/** A run of many seeds: how to run and report them. */
export type Many = {
  readonly from: number
  readonly count: number
  /** The prefix of the file that stores their outcomes. */
  readonly kept: string
  /** Marks that must occur in the run; those of one gateway when absent. */
  readonly marks?: readonly string[]
  /** The path for the figures as JSON. */
  readonly json?: string | undefined
  readonly isJson: boolean
  readonly coverage?: Coverage | undefined
  readonly print: (line: string) => void
  /** Runs seeds in any order; `take` receives each outcome. `covered` is a folder for V8's coverage data. */
  run(seeds: readonly number[], take: (outcome: Outcome) => void, covered: string | undefined): Promise<void>
}

/**
 * Runs new seeds, and prints a summary of all of them. Outcomes are saved immediately: an interrupted run continues
 * from them. @returns the exit code
 */
export async function tryMany(many: Many): Promise<number> {
  const { from, count, kept, coverage } = many
  const folder = resolve(root, 'data/simulate')
  mkdirSync(folder, { recursive: true })
  const file = resolve(folder, `${kept}${fingerprint()}.jsonl`)
  // Coverage has to be collected again.
  const known = coverage ? new Map<number, Outcome>() : readKept(file)
  const covered = coverage && resolve(folder, `coverage-${process.pid}`)
  const wanted = Array.from({ length: count }, (_, i) => from + i)
  const outcomes = wanted.flatMap(seed => known.get(seed) ?? [])
  const beganAt = performance.now()
  if (outcomes.length > 0) process.stderr.write(`${outcomes.length} seeds are known from before (${file})\n`)
  const take = (outcome: Outcome): void => {
    outcomes.push(outcome)
    if (covered !== undefined) coverage?.take(resolve(covered, String(outcome.seed)))
    // A seed that did not end has no outcome.
    if (outcome.trace !== '') appendFileSync(file, `${JSON.stringify(outcome)}\n`)
    const alarmed = outcomes.filter(one => one.alarms.length > 0).length
    process.stderr.write(`\r${outcomes.length} of ${count} seeds, ${alarmed} with alarms `)
  }
  const unknown = wanted.filter(seed => !known.has(seed))
  if (unknown.length > 0) await many.run(unknown, take, covered)
  if (covered !== undefined) rmSync(covered, { recursive: true, force: true })
  process.stderr.write('\n')
  return sumUp(outcomes, performance.now() - beganAt, many)
}

/** Everything that determines a seed's outcome: outcomes with the same value are reused. */
function fingerprint(): string {
  const hash = createHash('sha256')
  const files = globSync(['src/**/*.ts', 'plugins/**/*.ts', 'test/simulate/**/*.ts', 'test/harness/*.ts'], {
    cwd: root,
  })
  for (const file of ['gateway.yaml', ...files.sort()]) hash.update(file).update(readFileSync(resolve(root, file)))
  return hash.digest('hex').slice(0, 16)
}

function readKept(file: string): ReadonlyMap<number, Outcome> {
  const known = new Map<number, Outcome>()
  if (!existsSync(file)) return known
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (!line.endsWith('}')) continue
    const outcome = JSON.parse(line) as Outcome
    known.set(outcome.seed, outcome)
  }
  return known
}

export function describe({ oracle, what }: Alarm): string {
  return `${oracle}: ${what}`
}

function sumUp(outcomes: readonly Outcome[], tookMs: number, many: Many): number {
  const { isJson, print } = many
  const coverage = many.coverage?.sum()
  const marks: { [name: string]: number } = {}
  const kinds = new Map<string, number[]>()
  for (const { seed, alarms, marks: own } of outcomes) {
    for (const [name, times] of Object.entries(own)) marks[name] = (marks[name] ?? 0) + times
    for (const kind of new Set(alarms.map(describe))) kinds.set(kind, [...(kinds.get(kind) ?? []), seed])
  }
  if (outcomes.length >= seedsForMarks)
    for (const [what, detail] of judgeMarks(marks, many.marks)) kinds.set(`sometimes: ${what}: ${detail}`, [])
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
  if (many.json !== undefined) writeFileSync(many.json, `${JSON.stringify({ ...result, marks, coverage })}\n`)
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

type Result = {
  readonly seeds: number
  readonly alarmed: number
  readonly kinds: number
  readonly requests: number
  readonly simulatedDays: number
  readonly seconds: number
}

function describeResult({ seeds, alarmed, kinds, requests, simulatedDays, seconds }: Result): string {
  return `${seeds} seeds, ${requests} requests, ${simulatedDays} simulated days in ${seconds} s: ${alarmed} seeds with alarms of ${kinds} kinds`
}
