import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { drawPlan, type Plan } from './play/plan.ts'
import type { Outcome } from './play/play.ts'
import { recordPlan } from './play/record.ts'

const root = resolve(import.meta.dirname, '../..')
const script = resolve(import.meta.dirname, 'seed.ts')
const fastImports = resolve(import.meta.dirname, '../harness/fast-imports.cjs')
/** A seed takes about a second; one that takes this long will not end. */
const longestMs = 240_000
/** Number of seeds that one process plays. */
const company = 20

export type Nth = { readonly of: 'statement' | 'commit'; readonly number: number }

export type SeedOptions = {
  readonly sabotage?: string
  /** Receives each line of the story as it is printed. */
  readonly story?: (line: string) => void
  readonly events?: boolean
  /** Simulates a busy machine (world/sluggish.ts). */
  readonly sluggish?: boolean
  /** The n-th statement that changes data, or the n-th commit, fails. */
  readonly nth?: Nth
  /** A folder for V8's coverage data; each seed has a subfolder with its number. */
  readonly coverage?: string
}

/** Runs the plan of a seed. Never rejects: any other failure is an alarm of the harness. */
export function runSeed(seed: number, options: SeedOptions = {}): Promise<Outcome> {
  return runPlan(drawPlan(seed), options)
}

/** Runs a plan in a process of its own. */
export function runPlan(plan: Plan, { nth, ...options }: SeedOptions = {}): Promise<Outcome> {
  return runScript(plan.seed, script, [], { ...options, input: toLine({ plan, nth }) })
}

/** A plan, and the statement or commit that fails in it. */
export type Case = { readonly plan: Plan; readonly nth?: Nth | undefined }

/**
 * Runs plans one after the other in one process, with warm code from the second on. @returns their outcomes, in order
 */
export async function runPlans(
  cases: readonly Case[],
  options: Pick<SeedOptions, 'sluggish'> = {},
): Promise<readonly Outcome[]> {
  const outcomes = new Map<Case, Outcome>()
  await runTogether(cases, (outcome, one) => void outcomes.set(one, outcome), options)
  return cases.map(one => outcomes.get(one) as Outcome)
}

/** The input line of seed.ts. */
function toLine({ plan, nth }: Case): string {
  return JSON.stringify({ plan: recordPlan(plan), nth })
}

/** Runs a script that plays one seed, in a process of its own; `input` is its standard input. */
export async function runScript(
  seed: number,
  path: string,
  more: readonly string[],
  { story, ...options }: ScriptOptions,
): Promise<Outcome> {
  let outcome: Outcome | undefined
  const end = await startScript(path, more, { ...options, seed, ...(story && { story }) }, one => {
    outcome = one
  })
  return outcome ?? lost(seed, end)
}

type ScriptOptions = Omit<SeedOptions, 'nth'> & {
  readonly input?: string
  readonly seed?: number
  /** Real milliseconds without an outcome before the process is killed. */
  readonly mostMs?: number
}

/** @returns the exit; never rejects */
function startScript(
  path: string,
  more: readonly string[],
  { seed, sabotage, story, events = false, sluggish = false, coverage, input = '', mostMs = longestMs }: ScriptOptions,
  take: (outcome: Outcome) => void,
): Promise<string> {
  const args = ['--require', fastImports, path, ...more]
  if (story) args.push('--story')
  if (events) args.push('--events')
  if (sluggish) args.push('--sluggish')
  if (sabotage !== undefined) args.push('--sabotage', sabotage)
  // Compiled code is cached by its text, including planted faults: compilation would take half of a seed's time.
  const compiled = process.env['NODE_COMPILE_CACHE'] ?? resolve(root, 'data/simulate/compiled')
  const cache = coverage === undefined ? { NODE_COMPILE_CACHE: compiled } : {}
  const counted = coverage === undefined ? {} : { NODE_V8_COVERAGE: resolve(coverage, String(seed)) }
  const env = { ...process.env, UV_THREADPOOL_SIZE: '1', ...cache, ...counted }
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const kill = (): void => void child.kill('SIGKILL')
  process.on('exit', kill)
  let limit = setTimeout(kill, mostMs)
  let err = ''
  createInterface({ input: child.stdout }).on('line', line => {
    if (!line.startsWith('{"seed":')) return story?.(line)
    clearTimeout(limit)
    limit = setTimeout(kill, mostMs)
    take(JSON.parse(line) as Outcome)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err = (err + text).slice(-4_000)
  })
  return new Promise(done => {
    child.on('close', (code, signal) => {
      process.off('exit', kill)
      clearTimeout(limit)
      done(`it ended with ${code ?? signal}: ${err}`)
    })
  })
}

function lost(seed: number, detail: string): Outcome {
  const alarms = [
    { oracle: 'harness', what: detail.split('\n').find(line => /Error/.test(line)) ?? 'no outcome', detail },
  ]
  return { seed, calm: false, trace: '', books: '', alarms, marks: {}, happened: 0, simulatedMs: 0, asks: 0 }
}

/**
 * Runs seeds on all cores, in any order. Those without planted faults share processes with warm code; each outcome must
 * equal that of the seed alone (`alone`). `take` receives each outcome; returning false ends the run.
 */
export async function runSeeds(
  seeds: Iterable<number>,
  take: (outcome: Outcome) => boolean | void,
  { jobs = availableParallelism(), ...options }: SeedOptions & { readonly jobs?: number } = {},
): Promise<void> {
  const queue = [...seeds]
  const isAlone = Object.keys(options).length > 0
  const together = isAlone ? 1 : Math.min(company, Math.ceil(queue.length / jobs))
  const takeOne = (outcome: Outcome): void => {
    if (take(outcome) === false) queue.length = 0
  }
  const work = async (): Promise<void> => {
    while (queue.length > 0) {
      const some = queue.splice(0, together)
      if (isAlone) takeOne(await runSeed(some[0] as number, options))
      else
        await runTogether(
          some.map(seed => ({ plan: drawPlan(seed) })),
          takeOne,
        )
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
}

/** Runs the plans of one process; a failed one is repeated in a process of its own. */
async function runTogether(
  cases: readonly Case[],
  take: (outcome: Outcome, one: Case) => void,
  options: Pick<SeedOptions, 'sluggish'> = {},
): Promise<void> {
  const left = [...cases]
  const alarmed: (readonly [Case, Outcome])[] = []
  // Outcomes arrive in the order of the plans.
  await startScript(script, [], { ...options, input: cases.map(toLine).join('\n') }, outcome => {
    const one = left.shift() as Case
    if (outcome.alarms.length > 0) alarmed.push([one, outcome])
    else take(outcome, one)
  })
  const runAlone = ({ plan, nth }: Case): Promise<Outcome> => runPlan(plan, { ...options, ...(nth && { nth }) })
  for (const [one, outcome] of alarmed) take(compare(outcome, await runAlone(one)), one)
  const [stuck, ...rest] = left
  if (stuck === undefined) return
  take(await runAlone(stuck), stuck)
  if (rest.length > 0) await runTogether(rest, take, options)
}

/** @returns the outcome of the seed alone, which must equal its outcome in a shared process */
function compare({ trace }: Outcome, alone: Outcome): Outcome {
  if (trace === alone.trace) return alone
  const what = 'a seed goes another way behind other seeds'
  return { ...alone, alarms: [...alone.alarms, { oracle: 'harness', what, detail: `${trace}, alone ${alone.trace}` }] }
}

/** Runs seeds of another kind, `jobs` at once, in any order. `take` receives each outcome. */
export async function runAll(
  seeds: Iterable<number>,
  run: (seed: number) => Promise<Outcome>,
  take: (outcome: Outcome) => void,
  jobs: number,
): Promise<void> {
  const queue = seeds[Symbol.iterator]()
  const work = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) take(await run(next.value))
  }
  await Promise.all(Array.from({ length: jobs }, work))
}
