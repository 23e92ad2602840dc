import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { drawPlan, type Plan } from './play/plan.ts'
import type { Outcome } from './play/play.ts'
import { recordPlan } from './play/record.ts'

const root = resolve(import.meta.dirname, '../..')
const script = resolve(import.meta.dirname, 'seed.ts')
/** A seed takes about a second; one that takes so long will not end. */
const longestMs = 240_000

export type Nth = { readonly of: 'statement' | 'commit'; readonly number: number }

export type SeedOptions = {
  readonly sabotage?: string
  /** Takes each line of the story as it comes. */
  readonly story?: (line: string) => void
  readonly events?: boolean
  /** The n-th statement that changes something, or the n-th commit, fails. */
  readonly nth?: Nth
  /** A folder for what V8 says was reached; each seed has one of its own in it, named for it. */
  readonly coverage?: string
}

/** Runs the plan that a seed draws. Never rejects: what goes wrong with it is an alarm of the harness. */
export function runSeed(seed: number, options: SeedOptions = {}): Promise<Outcome> {
  return runPlan(drawPlan(seed), options)
}

/** Runs a plan in a process of its own. */
export function runPlan(plan: Plan, { nth, ...options }: SeedOptions = {}): Promise<Outcome> {
  const args = nth ? ['--nth', `${nth.of}:${nth.number}`] : []
  return runScript(plan.seed, script, args, { ...options, input: JSON.stringify(recordPlan(plan)) })
}

/** Runs a script that plays one seed, in a process of its own; `input` is what it reads. */
export function runScript(
  seed: number,
  path: string,
  more: readonly string[],
  { sabotage, story, events = false, coverage, input = '' }: Omit<SeedOptions, 'nth'> & { readonly input?: string },
): Promise<Outcome> {
  const args = [path, ...more]
  if (story) args.push('--story')
  if (events) args.push('--events')
  if (sabotage !== undefined) args.push('--sabotage', sabotage)
  // What is compiled is kept: half of a seed's time would go into it. Planted faults compile anew.
  const cache =
    sabotage === undefined && coverage === undefined
      ? { NODE_COMPILE_CACHE: resolve(root, 'data/simulate/compiled') }
      : {}
  const counted = coverage === undefined ? {} : { NODE_V8_COVERAGE: resolve(coverage, String(seed)) }
  const env = { ...process.env, UV_THREADPOOL_SIZE: '1', ...cache, ...counted }
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const limit = setTimeout(() => child.kill('SIGKILL'), longestMs)
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (!story) return
    const lines = out.split('\n')
    out = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('{"seed":')) out = `${line}\n${out}`
    for (const line of lines) if (!line.startsWith('{"seed":')) story(line)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err = (err + text).slice(-4_000)
  })
  return new Promise(done => {
    child.on('close', code => {
      clearTimeout(limit)
      const last = out.trimEnd().split('\n').at(-1) ?? ''
      done(last.startsWith('{"seed":') ? (JSON.parse(last) as Outcome) : lost(seed, `it ended with ${code}: ${err}`))
    })
  })
}

function lost(seed: number, detail: string): Outcome {
  const alarms = [
    { oracle: 'harness', what: detail.split('\n').find(line => /Error/.test(line)) ?? 'no outcome', detail },
  ]
  return { seed, calm: false, trace: '', books: '', alarms, marks: {}, happened: 0, simulatedMs: 0, asks: 0 }
}

/** Runs seeds on all cores, in any order. `take` is told each as it ends; false from it ends the run. */
export async function runSeeds(
  seeds: Iterable<number>,
  take: (outcome: Outcome) => boolean | void,
  options: SeedOptions & { readonly jobs?: number } = {},
): Promise<void> {
  const queue = seeds[Symbol.iterator]()
  let ended = false
  const work = async (): Promise<void> => {
    for (let next = queue.next(); !ended && next.done !== true; next = queue.next())
      if (take(await runSeed(next.value, options)) === false) ended = true
  }
  await Promise.all(Array.from({ length: options.jobs ?? availableParallelism() }, work))
}
