import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { png } from '../harness/pictures.ts'
import { openDamagedShop, type Received } from './damaged-shop.ts'
import { type SdkGateway, startForSdk } from './sdk-gateway.ts'

// `npm run test:python`: the Python SDKs of openai, anthropic and google-genai, in an environment of their own that is
// deleted after the run. Needs python3 with venv and a package index, and about a minute: too much for `npm test`.

const run = promisify(execFile)
const timeout = 300_000
t.setTimeout(timeout)

const folder = await mkdtemp(join(tmpdir(), 'tollgate-python-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
try {
  await run('python3', ['-m', 'venv', join(folder, 'venv')], { timeout })
} catch (cause) {
  t.bailout(`python3 with venv is missing: nothing of Python was tried (${String(cause)})`)
}
const python = join(folder, 'venv', 'bin', 'python')
const requirements = join(import.meta.dirname, 'python-requirements.txt')
await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements], { timeout })

/**
 * A line that python_sdks.py prints. `turns`: input, cached and output tokens of each turn of a session, as its client
 * received them.
 */
type Check = {
  readonly title: string
  readonly ok: boolean
  readonly trace?: string
  readonly turns?: readonly (readonly [input: number, cached: number, output: number])[]
}

/** Micro-units per million of the shipped model's tokens, repeated here independently. */
const realtimePrices = { input: 4_000_000, cached: 400_000, output: 16_000_000 } as const

/** Each turn has one row and one settled charge: the client's tokens at their prices. */
async function reconcile(t: Test, gateway: SdkGateway, turns: NonNullable<Check['turns']>): Promise<void> {
  t.equal(turns.length, 3, 'turns of the session')
  const rows = (await gateway.logs(1000)).filter(row => row.operation === 'realtime' && row.status === 200)
  t.equal(rows.length, turns.length, 'rows of turns')
  for (const [i, row] of rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).entries()) {
    const [input, cached, output] = turns[i] ?? [0, 0, 0]
    const named = caseName({ turn: i + 1 })
    t.match(row, { billing: { state: 'settled' }, usage: { input_tokens: input, output_tokens: output } }, named)
    const { input: whole, cached: less, output: out } = realtimePrices
    const micros = Math.round(((input - cached) * whole + cached * less + output * out) / 1_000_000)
    t.equal(row.billing?.amount, (micros / 1_000_000).toFixed(6), named)
  }
}

await t.test('the SDKs for Python', async t => {
  const picture = join(folder, 'picture.png')
  await writeFile(picture, png(60, 40))

  const gateway = await startForSdk(t)
  const env = {
    ...process.env,
    GATEWAY_URL: gateway.url,
    GATEWAY_KEY: gateway.key,
    GATEWAY_SPENT_KEY: gateway.keys.spent,
    GATEWAY_PICTURE: picture,
  }
  const { stdout } = await run(python, [join(import.meta.dirname, 'python_sdks.py')], { env, timeout })
  const lines = stdout.split('\n').filter(line => line !== '')
  t.ok(lines.length > 0, 'something was tried')
  const checks = lines.map(line => JSON.parse(line) as Check)
  for (const { title, ok, trace } of checks) {
    t.ok(ok, title)
    if (trace !== undefined) t.comment(trace)
  }
  await reconcile(t, gateway, checks.find(({ turns }) => turns !== undefined)?.turns ?? [])
  t.comment(`Python: ${await gateway.requests()} requests`)
})

await t.test('damaged answers, through openai-python', async t => {
  const shop = await openDamagedShop(t)
  const env = { ...process.env, GATEWAY_URL: shop.url, GATEWAY_KEY: shop.key }
  const child = spawn(python, [join(import.meta.dirname, 'python_damaged.py')], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  let tried = 0
  await shop.play(t, 'Python', (asks, model) => {
    if (!asks.startsWith('openai.')) return undefined
    tried++
    child.stdin.write(`${JSON.stringify({ asks, model })}\n`)
    return lines.next().then(({ value }) => JSON.parse(value as string) as Received)
  })
  t.ok(tried >= 30, `${tried} damaged answers`)
})
