import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { constants, setPriority, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs, promisify } from 'node:util'
import { agents } from '../../src/cli/agents.ts'
import { type Started, start } from '../harness/start.ts'
import { findBillFaults } from './reconcile.ts'
import { type Program, programs } from './programs.ts'
import { translatedModels, translatedPrograms } from './translated.ts'

// `npm run test:agents [-- --only codex,aider] [--build FOLDER] [--translated]`: installs coding agents from their registries, gives each the
// settings that `tollgate init --agent` prints, lets it run one tool, and reconciles its bill row by row. An agent that
// fails
// to install is reported; any other failure is exit 1. `--translated` gives them models whose upstreams speak other
// formats.

const minutesMax = 5
const { values } = parseArgs({
  options: { only: { type: 'string' }, build: { type: 'string' }, translated: { type: 'boolean' } },
})
const wanted = values.only?.split(',') ?? agents.map(({ name }) => name)
const unknown = wanted.filter(name => !agents.some(agent => agent.name === name))
if (unknown.length > 0) throw new Error(`unknown agent: ${unknown.join(', ')}`)

type Row = { readonly program: Program; readonly requests: number; readonly faults: readonly string[] }

const temporary = await mkdtemp(join(tmpdir(), 'tollgate-agents-'))
const built = values.build === undefined ? join(temporary, 'built') : resolve(values.build)
const ends: (() => unknown)[] = []
const gateway = await start(
  { teardown: end => void ends.push(end) },
  {
    simulated: true,
    edit: [{ 'groups/default': { rpm: 60000, tpm: 200000000 } }, ...(values.translated ? translatedModels : [])],
  },
)
const rows: Row[] = []
const skipped: string[] = []
try {
  for (const program of (values.translated ? translatedPrograms : programs).filter(({ agent }) =>
    wanted.includes(agent),
  )) {
    const folder = join(built, `${program.agent}-${program.version}`)
    const why = await install(program, folder)
    if (why === undefined) rows.push(await tryOut(gateway, program, folder))
    else skipped.push(`${program.agent} ${program.version}: ${why}`)
  }
} finally {
  for (const end of ends.toReversed()) await end()
  await rm(temporary, { recursive: true, force: true })
}
report()

/** Returns why the agent could not be installed; undefined on success. */
async function install(program: Program, folder: string): Promise<string | undefined> {
  const done = join(folder, '.installed')
  if ((await readFile(done, 'utf8').catch(() => '')) === program.version) return undefined
  await mkdir(folder, { recursive: true })
  for (const { run, args } of program.install(folder)) {
    try {
      await promisify(execFile)(run, args, { timeout: minutesMax * 60_000, maxBuffer: 64 * 1024 * 1024 })
    } catch (error) {
      return `${run} ${args.join(' ')}: ${(error as Error).message.split('\n').at(0) ?? ''}`
    }
  }
  await writeFile(done, program.version)
  return undefined
}

/** Runs one prompt, in a project and a home folder of its own. */
async function tryOut({ url, newKey, logs }: Started, program: Program, folder: string): Promise<Row> {
  const agent = agents.find(({ name }) => name === program.agent)
  if (!agent) throw new Error(`no settings for ${program.agent}`)
  const project = await mkdtemp(join(temporary, 'project-'))
  const home = join(project, '.home')
  await mkdir(home)
  const { key, id } = await newKey({ name: `${program.agent} ${program.version}` })
  const { env, file } = agent.settings({ url, model: program.model }, key)
  if (file) {
    const path = file.path.startsWith('~/') ? join(home, file.path.slice(2)) : join(project, file.path)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, file.text)
  }
  const before = new Set((await logs(1_000_000)).map(row => row.id))
  const { run, args } = program.command(folder, program.prompt)
  const ran = await execute(run, args, {
    cwd: project,
    input: program.prompt,
    env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', HOME: home, ...program.env, ...env },
  })
  const made = (await readFile(join(project, 'made.txt'), 'utf8').catch(() => '')).trim()
  const own = (await logs(1_000_000)).filter(row => row.key_id === id && !before.has(row.id))
  const faults = [
    ...(ran.code === 0 ? [] : [`exit ${ran.code}: ${ran.stderr.slice(-600)}`]),
    ...(made === 'from-the-tool' ? [] : [`its tool wrote '${made}'; it printed: ${ran.stdout.slice(-600)}`]),
    ...findBillFaults(own, program.requests ?? 2),
  ]
  return { program, requests: own.length, faults }
}

async function execute(
  run: string,
  args: readonly string[],
  { cwd, env, input }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly input: string },
) {
  const signal = AbortSignal.timeout(minutesMax * 60_000)
  const child = spawn(run, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'close') as Promise<[number | null]>
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  // An agent may end without reading it.
  child.stdin.on('error', () => undefined).end(input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr }
}

function report(): void {
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  say('| agent | version | model | requests | result |\n|---|---|---|---:|---|')
  for (const { program, requests, faults } of rows)
    say(
      `| ${program.agent} | ${program.version} | ${program.model} | ${requests} | ${faults.length === 0 ? 'passed' : 'FAILED'} |`,
    )
  for (const { program, faults } of rows)
    for (const fault of faults) say(`FAILED ${program.agent} ${program.version} ${program.model}: ${fault}`)
  for (const one of skipped) say(`NOT INSTALLED ${one}`)
  if (rows.length === 0 || rows.some(({ faults }) => faults.length > 0)) process.exitCode = 1
}
