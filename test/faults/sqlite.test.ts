import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { createKey, openStorage } from '../../src/index.ts'
import { askOnce } from '../harness/ask.ts'
import { type ChildGateway, prepareSite, type Site } from '../harness/child.ts'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { allCharges, checkBooks, openShop } from '../harness/shop.ts'
import { startUpstream, type Upstream } from '../harness/upstream.ts'
import { until } from '../harness/works.ts'
import { caseName } from '../harness/case-name.ts'

const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'Say hello.' }] }
const image = { data: [picture(1254, 1254)] }
const edit = [
  [/(sim-chat: .*)prices: \{[^}]*\}/, '$1price: free'],
  [/default: \{ rpm: 60, tpm: (\d+), concurrency: \d+ \}/, 'default: { rpm: 100000, tpm: $1 }'],
] as const

type Small = {
  readonly site: Site
  readonly gateway: ChildGateway
  readonly upstream: Upstream
  readonly ask: (body: object, key?: string) => ReturnType<typeof askOnce>
  /** A key that the gateway has not cached. */
  readonly stranger: string
}

/** A gateway on a SQLite file in a process of its own, whose resource limits the test lowers. */
async function open(t: Test, how: Pick<Parameters<typeof prepareSite>[1], 'env' | 'by'> = {}): Promise<Small> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-sqlite-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const upstream = await startUpstream(image)
  const text = await startUpstream({ choices: [] })
  t.teardown(() => Promise.all([upstream.close(), text.close()]))
  const site = await prepareSite(folder, { upstreams: { alpha: upstream.url, text: text.url }, edit, ...how })
  const storage = await openStorage({ url: `sqlite:${site.database}`, role: 'tool' })
  const { secret: stranger } = await createKey(storage, { name: 'stranger', user: 'local' })
  await storage.close()
  const gateway = site.start()
  t.teardown(() => gateway.kill())
  const url = await gateway.ready
  const ask: Small['ask'] = (body, key = site.key) =>
    askOnce(url, body, { key, ...('messages' in body && { path: '/v1/chat/completions' }) })
  t.equal((await ask(alpha)).status, 200)
  return { site, gateway, upstream, ask, stranger }
}

/** Images are refused before any upstream call, also with a key that is not cached; free requests are answered. */
async function refuses(t: Test, { ask, upstream, stranger }: Omit<Small, 'site' | 'gateway'>): Promise<void> {
  const calls = upstream.received.length
  for (const key of [undefined, stranger, stranger]) {
    const answer = await ask(alpha, key)
    t.match(answer, { status: 503, headers: { 'retry-after': /^\d+$/ } }, caseName({ key }))
    t.match(answer.json(), { error: { code: 'storage_unavailable' } }, caseName({ key }))
    t.equal((await ask(chat)).status, 200, 'free requests are answered')
  }
  t.equal(upstream.received.length, calls, 'nothing was sent')
}

/** Checks that it works again, in the same process, and that the books are valid. */
async function goesOn(t: Test, { site, gateway, upstream, ask, stranger }: Small): Promise<void> {
  await until(async () => (await ask(alpha, stranger)).status === 200)
  await gateway.stop()
  t.equal(await gateway.gone, 0)
  t.match(await runCli(site, 'ledger', 'verify'), { code: 0, stderr: /0 problems/ })
  const db = new DatabaseSync(site.database, { readOnly: true })
  t.same(db.prepare('SELECT count(*) AS n FROM line').get(), { n: upstream.received.length }, 'each image has its line')
  t.same(db.prepare(`SELECT sum(held) AS n FROM key`).get(), { n: 0 })
  db.close()
}

function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

t.test(
  'a full disk: 503 before the upstream is called; a received image waits until there is room [D1]',
  { skip: !hasPrlimit() && 'prlimit is not installed' },
  async t => {
    // The test runner's hooks in child processes exit on the signal for an oversized file; Node ignores it.
    const small = await open(t, { by: ['env', '-u', 'NODE_OPTIONS'] })
    const { gateway, upstream, ask } = small
    // If a file may not grow, the system refuses writes as on a full disk.
    const limit = (bytes: string): void =>
      void execFileSync('prlimit', ['--pid', `${gateway.pid}`, `--fsize=${bytes}:`])
    limit('0')
    await until(async () => (await ask(alpha)).status === 503)
    await refuses(t, small)
    limit('unlimited')
    await until(async () => (await ask(alpha)).status === 200)
    const arrived = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    upstream.answerOnce(async res => {
      arrived.resolve()
      await go.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(image))
    })
    const pending = ask(alpha)
    await arrived.promise
    const from = gateway.said().length
    limit('0')
    go.resolve()
    await gateway.hears(/the storage cannot be written/, from)
    limit('unlimited')
    t.match(await pending, { status: 200, whole: true, text: JSON.stringify(image) })
    await goesOn(t, small)
  },
)

t.test('another process holds the file lock: waits at most 5 s, then returns 503, then recovers [D2]', async t => {
  const small = await open(t)
  const foreign = new DatabaseSync(small.site.database)
  foreign.exec('BEGIN IMMEDIATE')
  t.equal((await small.ask(chat)).status, 200)
  await refuses(t, small)
  foreign.exec('ROLLBACK')
  foreign.close()
  await goesOn(t, small)
})

t.test('a read-only file, or one in use by another gateway, is reported at the start [D2]', async t => {
  // For root every file is writable, until the process drops that right.
  const rights = '-dac_override,-dac_read_search'
  const by = process.getuid?.() === 0 ? ['setpriv', `--bounding-set=${rights}`, `--inh-caps=${rights}`] : []
  const { site, gateway } = await open(t, { by: [] })
  const second = site.start()
  t.equal(await second.gone, 1)
  t.match(second.said(), /another gateway already works on .*stop it/)
  await gateway.stop()
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-read-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const closed = await prepareSite(folder, { upstreams: {}, by })
  chmodSync(closed.database, 0o444)
  chmodSync(folder, 0o555)
  const third = closed.start()
  t.equal(await third.gone, 1)
  t.match(third.said(), /storage/)
  chmodSync(folder, 0o755)
})

t.test('less than 256 MiB free: 503 for images, other requests continue, and all recover with room [D3]', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-room-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [module, flag] = [join(folder, 'room.mjs'), join(folder, 'nearly-full')]
  // Simulates the system's answer for a full disk.
  writeFileSync(
    module,
    `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { statfsSync } = fs
fs.statfsSync = path => ({ ...statfsSync(path), ...(fs.existsSync(${JSON.stringify(flag)}) && { bavail: 1 }) })
syncBuiltinESMExports()
`,
  )
  const small = await open(t, { env: { NODE_OPTIONS: `--import=${pathToFileURL(module).href}` } })
  writeFileSync(flag, '')
  await until(async () => (await small.ask(alpha)).status === 503)
  await refuses(t, small)
  await small.gateway.hears(/the disk is nearly full/)
  rmSync(flag)
  await goesOn(t, small)
})

t.test('a copy made with VACUUM INTO under load has every ended charge, and verifies [D5]', async t => {
  const shop = await openShop(t)
  shop.upstreams['alpha']?.answer(image)
  const over = new AbortController()
  const load = Array.from({ length: 8 }, async () => {
    while (!over.signal.aborted) t.equal((await shop.ask(alpha)).status, 200)
  })
  await until(async () => (await shop.gateway.storage.books.all(null, 60)).length > 50)
  const before = (await allCharges(shop.gateway.storage.books)).filter(({ state }) => state === 'settled')
  const copy = join(shop.folder, 'copy.db')
  const db = new DatabaseSync(join(shop.folder, 'tollgate.db'), { timeout: 5_000 })
  db.exec(`VACUUM INTO '${copy}'`)
  db.close()
  over.abort()
  await Promise.all(load)
  await shop.settled()
  t.strictSame(await checkBooks(shop.gateway, shop), [])
  const restored = await openStorage({ url: `sqlite:${copy}`, role: 'tool' })
  t.strictSame((await restored.books.verify()).problems, [])
  const copied = new Map((await allCharges(restored.books)).map(charge => [charge.id, charge]))
  await restored.close()
  t.strictSame(
    before.filter(({ id, amount }) => copied.get(id)?.amount !== amount),
    [],
  )
})
