import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs, promisify } from 'node:util'
import { png } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import { translatedEdits } from '../harness/translated-models.ts'
import { answerAsVendor } from '../harness/vendor-answers.ts'
import { type Line, parseLines } from './results.ts'

// `npm run test:translated [-- --build FOLDER]`: the AI SDK and LangChain, from npm, complete a tool loop in every
// direction of the translation. Prints the table of docs/translation.md; exit 1 for a failure.

/** Names that LangChain recognises, one for each family. */
const named: readonly [string, string] = [
  '\n  sim-responses:',
  `${[
    ['chat', 'chat'],
    ['responses', 'only-responses'],
    ['messages', 'messages'],
  ]
    .map(
      ([format, family]) =>
        `\n  gemini-2.5-on-${format}: { family: ${family}, upstream: text, accepts: [generate], prices: { input: "1.00", cached_input: "0.10", output: "2.00" } }`,
    )
    .join('')}\n  sim-responses:`,
]

/** The output of `translated.js`. */
const picture = 'iVBORw0KGgo='

const { values } = parseArgs({ options: { build: { type: 'string' } } })
const temporary = await mkdtemp(join(tmpdir(), 'tollgate-translated-'))
const folder = values.build === undefined ? join(temporary, 'node') : resolve(values.build)
const ends: (() => unknown)[] = []
try {
  await install()
  const started = await start(
    { teardown: end => void ends.push(end) },
    { upstreams: ['text'], edit: [{ 'groups/default': { rpm: 60_000, tpm: 200_000_000 } }, ...translatedEdits, named] },
  )
  const upstream = started.upstreams['text']
  upstream?.answer(answerAsVendor)
  const calls = await call(started.url, started.key)
  report(calls)
  const bodies = upstream?.received.map(({ body }) => String(body)) ?? []
  const without = bodies.filter(body => !body.includes(picture)).length
  const schemas = bodies.filter(body => body.includes('"warm":{"type":"boolean"')).length
  // Both requests of each loop of the AI SDK, and one of LangChain, which requests structured output separately.
  const wanted = (calls.length / 2) * 3
  process.stdout.write(`${without} requests without the image; ${schemas} of ${wanted} with the schema\n`)
  if (without > 0 || schemas !== wanted) process.exitCode = 1
} finally {
  for (const end of ends.toReversed()) await end()
  await rm(temporary, { recursive: true, force: true })
}

async function install(): Promise<void> {
  await mkdir(folder, { recursive: true })
  const read = (at: string): Promise<string> => readFile(join(at, 'package-lock.json'), 'utf8').catch(() => '')
  const source = join(import.meta.dirname, 'node')
  const isThere = (await read(folder)) === (await read(source)) && existsSync(join(folder, 'node_modules'))
  await cp(source, folder, { recursive: true })
  if (isThere) return
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  await promisify(execFile)('npm', ['ci', ...quiet], { cwd: folder })
}

async function call(url: string, key: string): Promise<readonly Line[]> {
  const file = join(temporary, 'file')
  await writeFile(file, png(8, 8))
  const files = { GATEWAY_PICTURE: file, GATEWAY_MASK: file, GATEWAY_SOUND: file }
  const env = { ...process.env, ...files, GATEWAY_URL: url, GATEWAY_KEY: key, GATEWAY_SPENT_KEY: key }
  const child = spawn(process.execPath, ['translated.js'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close') as Promise<[number | null]>
  const [stdout, [code]] = await Promise.all([text(child.stdout), ended])
  if (code !== 0) throw new Error(`translated.js ended with ${code}`)
  return parseLines(stdout).calls
}

function report(calls: readonly Line[]): void {
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  const names = [...new Set(calls.map(one => one.call.replace(/,.*/, '')))]
  say(`| direction | ${['AI SDK', 'LangChain'].join(' | ')} |\n|---|---|---|`)
  for (const name of names) {
    const cells = ['@ai-sdk/', '@langchain/'].map(prefix => {
      const own = calls.filter(one => one.client.startsWith(prefix) && one.call.startsWith(`${name},`))
      return own.map(one => (one.ok ? 'passed' : 'FAILED')).join(', ')
    })
    say(`| ${name} | ${cells.join(' | ')} |`)
  }
  const failed = calls.filter(({ ok }) => !ok)
  for (const one of failed) say(`FAILED ${one.client} ${one.version}: ${one.call}: ${(one.error ?? '').slice(0, 800)}`)
  say(`${calls.length - failed.length} of ${calls.length} passed`)
  if (calls.length === 0 || failed.length > 0) process.exitCode = 1
}
