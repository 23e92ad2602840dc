import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Random } from '../simulate/world/random.ts'
import { instrument, type Mutant } from './instrument.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = resolve(root, 'node_modules/.cache/mutate')
/** A mutant counts as hanging if the test takes this many times longer than without it. */
const slower = 4
const slackMs = 4_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', multiple: true, default: [] },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '10' },
    json: { type: 'string' },
  },
})

type Fate = 'killed' | 'timed out' | 'survived'

process.exitCode = await main()

async function main(): Promise<number> {
  const [file] = positionals
  if (file === undefined || values.tests.length === 0) {
    process.stderr.write(
      'mutate FILE --tests TEST [--tests TEST …] [--sample N] [--seed N] [--minutes N] [--json FILE]\n',
    )
    return 2
  }
  mkdirSync(folder, { recursive: true })
  const { text, mutants } = await instrument(resolve(root, file), folder)
  const env = { MUTATED_URL: pathToFileURL(resolve(root, file)).href, MUTATED_TEXT: join(folder, `${process.pid}.ts`) }
  writeFileSync(env.MUTATED_TEXT, text)
  const beganAt = performance.now()
  for (const test of values.tests)
    if (!(await passes(test, env, 600_000))) throw new Error(`${test} fails without any mutant`)
  const limitMs = (performance.now() - beganAt) * slower + slackMs
  const chosen = choose(
    mutants,
    values.sample === undefined ? mutants.length : Number(values.sample),
    Number(values.seed),
  )
  const until = performance.now() + Number(values.minutes) * 60_000
  const fates = new Map<Mutant, Fate>()
  for (const mutant of chosen) {
    if (performance.now() > until) break
    const fate = await tryMutant(mutant, env, limitMs)
    fates.set(mutant, fate)
    if (fate === 'survived') process.stdout.write(`survived  ${describe(file, mutant)}\n`)
  }
  return report(file, mutants.length, fates)
}

/** A sample of this size; the same seed gives the same sample. */
function choose(mutants: readonly Mutant[], count: number, seed: number): readonly Mutant[] {
  const random = new Random(seed, 'mutants')
  const drawn = mutants.map(mutant => ({ mutant, at: random.unit() })).sort((a, b) => a.at - b.at)
  return drawn.slice(0, count).map(one => one.mutant)
}

async function tryMutant(mutant: Mutant, env: NodeJS.ProcessEnv, limitMs: number): Promise<Fate> {
  const beganAt = performance.now()
  const own = { ...env, __STRYKER_ACTIVE_MUTANT__: mutant.id }
  for (const test of values.tests)
    if (!(await passes(test, own, limitMs))) return performance.now() - beganAt >= limitMs ? 'timed out' : 'killed'
  return 'survived'
}

/** Runs a test's file in a process of its own, with the hook in it and in all of its children. */
function passes(test: string, env: NodeJS.ProcessEnv, limitMs: number): Promise<boolean> {
  const hook = pathToFileURL(resolve(import.meta.dirname, 'hook.ts')).href
  const child = spawn(process.execPath, [resolve(root, test)], {
    cwd: root,
    env: { ...process.env, ...env, NODE_OPTIONS: `--import=${hook}`, TAP_BAIL: '1', TAP_TIMEOUT: '600' },
    stdio: 'ignore',
    detached: true,
  })
  // Kills its children, too.
  const end = (): void => void (child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'))
  const limit = setTimeout(end, limitMs)
  return new Promise(done => {
    child.on('exit', code => {
      clearTimeout(limit)
      done(code === 0)
    })
  })
}

function describe(file: string, { location, mutatorName, replacement }: Mutant): string {
  const { line, column } = location.start
  return `${file}:${line + 1}:${column + 1} ${mutatorName} ${replacement.replaceAll(/\s+/g, ' ').slice(0, 80)}`
}

function report(file: string, all: number, fates: ReadonlyMap<Mutant, Fate>): number {
  const count = (fate: Fate): number => [...fates.values()].filter(one => one === fate).length
  const tried = fates.size
  const result = {
    file,
    tests: values.tests,
    mutants: all,
    tried,
    seed: Number(values.seed),
    killed: count('killed'),
    timedOut: count('timed out'),
    survived: count('survived'),
    score: Math.round((100 * (tried - count('survived'))) / Math.max(1, tried)),
  }
  const json = JSON.stringify(result)
  process.stdout.write(`${json}\n`)
  if (values.json !== undefined) writeFileSync(values.json, `${json}\n`)
  return 0
}
