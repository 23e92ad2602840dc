import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { constants, setPriority, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs, promisify } from 'node:util'
import { soundOf } from '../../src/simulator/text/sound.ts'
import { png } from '../harness/pictures.ts'
import { type ClientGateway, openGateway } from './gateway.ts'
import { known } from './known.ts'
import { type Command, type Language, languages } from './languages.ts'
import { judge, type Line, parseLines, type Results, writeTable } from './results.ts'

// `npm run test:clients [-- --only go,rust] [--json FILE] [--build FOLDER]`: runs clients in other languages, from
// their package managers, against a gateway of the shipped configuration. Languages that this machine lacks are skipped
// and reported. A failure that is not in known.ts, or one in known.ts that no longer happens, is exit 1.

const minutesMax = 20
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    json: { type: 'string' },
    // The build folder for clients; kept, so that the next run is fast. A temporary folder when absent.
    build: { type: 'string' },
  },
})
const wanted = values.only?.split(',') ?? languages.map(({ name }) => name)
const unknown = wanted.filter(name => !languages.some(language => language.name === name))
if (unknown.length > 0)
  throw new Error(`there is no ${unknown.join(', ')}; there is ${languages.map(({ name }) => name).join(', ')}`)

const temporary = await mkdtemp(join(tmpdir(), 'tollgate-clients-'))
const built = values.build === undefined ? temporary : resolve(values.build)
const gateway = await openGateway()
try {
  const { calls, skipped, broken } = await callAll(gateway)
  const requests = await gateway.requests()
  const results = judge(calls, known)
  report(results, requests, skipped, broken)
  const summary = { ...results, requests, skipped, broken }
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(summary, null, 2)}\n`)
  const isWrong = results.failed.some(({ fault }) => fault === 'ours') || results.outdated.length > 0
  if (isWrong || broken.length > 0) process.exitCode = 1
} finally {
  await gateway.close()
  await rm(temporary, { recursive: true, force: true })
}

async function callAll(gateway: ClientGateway) {
  const calls: Line[] = []
  const skipped: string[] = []
  const broken: string[] = []
  const env = { ...process.env, ...(await furnish(gateway)) }
  for (const language of languages.filter(({ name }) => wanted.includes(name))) {
    const lacking = await findLacking(language)
    if (lacking !== undefined) {
      skipped.push(`${language.name}: \`${lacking}\` is not on this machine`)
      continue
    }
    try {
      const folder = await build(language, env)
      for (const program of language.programs(folder)) {
        const { code, stdout, stderr } = await run(program, { ...env, GATEWAY_SPENT_KEY: await gateway.newSpentKey() })
        const { calls: made, rest } = parseLines(stdout)
        calls.push(...made)
        if (code !== 0 || made.length === 0)
          broken.push(`${nameOf(program)}: exit ${code}\n${[...rest.slice(-20), stderr.slice(-4000)].join('\n')}`)
      }
    } catch (error) {
      broken.push(`${language.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { calls, skipped, broken }
}

/** The environment of the programs. */
async function furnish({ url, key }: ClientGateway) {
  const files = { PICTURE: png(64, 48), MASK: png(64, 48), SOUND: soundOf('wav', 3) }
  const env: Record<string, string> = { GATEWAY_URL: url, GATEWAY_KEY: key }
  for (const [name, bytes] of Object.entries(files)) {
    const file = join(temporary, `${name.toLowerCase()}.${name === 'SOUND' ? 'wav' : 'png'}`)
    await writeFile(file, bytes)
    env[`GATEWAY_${name}`] = file
  }
  return env
}

async function findLacking({ tools }: Language): Promise<string | undefined> {
  for (const [name, ...args] of tools) {
    const isThere = await promisify(execFile)(name, args).then(
      () => true,
      () => false,
    )
    if (!isThere) return [name, ...args].join(' ')
  }
  return undefined
}

/** Not next to the sources: build output does not belong in a clone. */
async function build(language: Language, env: NodeJS.ProcessEnv): Promise<string> {
  const folder = join(built, language.name)
  await mkdir(folder, { recursive: true })
  await cp(join(import.meta.dirname, language.name), folder, { recursive: true })
  for (const step of language.prepare(folder)) {
    const { code, stdout, stderr } = await run(step, env)
    if (code !== 0) throw new Error(`${nameOf(step)}: exit ${code}\n${stdout.slice(-2000)}\n${stderr.slice(-4000)}`)
  }
  return folder
}

async function run({ run, args, cwd }: Command, env: NodeJS.ProcessEnv) {
  const signal = AbortSignal.timeout(minutesMax * 60_000)
  const child = spawn(run, args, { cwd, env, signal, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close') as Promise<[number | null]>
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr }
}

function nameOf({ run, args }: Command): string {
  return [run, ...args].join(' ')
}

function report(results: Results, requests: number, skipped: readonly string[], broken: readonly string[]): void {
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  for (const { client, call, fault, why, error } of results.failed)
    say(`${fault === 'ours' ? 'OURS' : fault}: ${client}: ${call}\n    ${why}\n    ${(error ?? '').slice(0, 600)}`)
  for (const { client, call } of results.outdated) say(`no longer fails, take it out of known.ts: ${client}: ${call}`)
  for (const one of broken) say(`BROKEN ${one}`)
  say(`\n${writeTable(results)}\n\n${requests} requests`)
  for (const one of skipped) say(`SKIPPED ${one}`)
}
