import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import {
  beginningOf,
  type ChargeRule,
  type Clock,
  type CostPart,
  costParts,
  type CostQuestion,
  firstIdAt,
  type Key,
  quarterMs,
  type Storage,
  systemTimers,
} from '../src/kit/index.ts'
import { addUpCosts } from '../src/storage/costs/add-up.ts'
import { quarterOfSpan } from '../src/storage/costs/spans.ts'
import { openStorage } from '../src/storage/index.ts'
import { Connection } from '../src/storage/sqlite/connect.ts'
import { facts, line, newKey } from '../test/contract/storage.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { addUpInBulk, sameSums } from './bulk-costs.ts'
import { copyFileTo } from './copy-file-to.ts'
import { onlyErrors } from './fill.ts'
import { median } from './measure.ts'

// `node bench/costs.ts [--charges 10000000] [--keys 20000] [--zone Asia/Shanghai] [--on sqlite,postgres] [--runs 9] [--file F] [--postgres-url U] [--fill-only]`:
// fills a file of SQLite with charges of 60 days, by the storage's own way, adds them up in bulk (held against the writer's own sums at a few thousand), copies it to PostgreSQL, and times what
// the first page of the console asks, of everybody and of one user: what was spent in 30 days, by each part, beside the 30 days before; what could have been saved. `--file` and `--postgres-url` keep
// what was filled, and take what is there as it is: filling and measuring can be two runs.

const { values: options } = parseArgs({
  options: {
    charges: { type: 'string', default: '10000000' },
    keys: { type: 'string', default: '20000' },
    zone: { type: 'string', default: 'Asia/Shanghai' },
    on: { type: 'string', default: 'sqlite,postgres' },
    file: { type: 'string' },
    'postgres-url': { type: 'string' },
    'fill-only': { type: 'boolean', default: false },
    runs: { type: 'string', default: '9' },
  },
})
const charges = Number(options.charges)
const runs = Number(options.runs)

const days = 60
const dayMs = 86_400_000
const keysMade = Number(options.keys)
const [users, models] = [50, 12]
/** Of so many charges one is of images, which has rows of its own. */
const imageEach = 100
const flushEach = 5_000
/** What is added up in bulk is held against the writer's at so many. */
const provedCharges = 4_000
const provedKeys = 300
const keysTogether = 250
/** Behind the last day that a file has, or will have. */
const until = Math.ceil((lastOf(options.file) ?? Date.now()) / dayMs) * dayMs
const begun = until - days * dayMs

/** One object: charges that share it share their terms in a segment, as those of a model do. */
const usageRule: ChargeRule = { kind: 'usage', prices: [], multiplier: '1', warnings: [] }

/** Time that is where the filling has come to. */
let now = begun
const clock: Clock = { now: () => now, tick: () => performance.now(), ...systemTimers }

function lastOf(path: string | undefined): number | undefined {
  if (path === undefined || !existsSync(path)) return undefined
  const db = new DatabaseSync(path, { readOnly: true })
  const row = db.prepare(`SELECT max(span) AS span FROM cost_part_sum WHERE part = ''`).get()
  db.close()
  return quarterOfSpan(Number(row?.['span']), 0) * quarterMs
}

async function fill(storage: Storage, charges: number, keysMade: number): Promise<void> {
  const keys: Key[] = []
  for (let n = 0; n < users; n++)
    await storage.users.create({ name: `user ${n}`, group: `group ${n % 5}`, role: 'user', passwordHash: null })
  while (keys.length < keysMade) {
    const from = keys.length
    const some = Array.from({ length: Math.min(keysTogether, keysMade - from) }, async (_, i) =>
      storage.keys.create(newKey({ user: `user ${(from + i) % users}` })),
    )
    keys.push(...(await Promise.all(some)))
  }
  const span = until - begun - 1
  const images: Promise<void>[] = []
  for (let n = 0; n < charges; n++) {
    now = begun + Math.floor((n * span) / charges)
    // Some keys ask far more than others.
    const key = keys[Math.floor(keysMade * ((n * 0.618_033_988_75) % 1) ** 3)] as Key
    const own = facts(key, {
      id: firstIdAt('req_', now) + n.toString(36).padStart(10, '0'),
      user: key.user,
      group: `group ${Number(key.user.slice(5)) % 5}`,
      model: `model ${n % models}`,
      operation: 'chat',
      size: null,
    })
    if (n % imageEach === 0) images.push(sellImage(storage, { ...own, operation: 'image.generate', size: '3840x2160' }))
    else
      storage.ledger.post(
        { ...own, rule: usageRule },
        ['input', 'output'].map((tier, i) =>
          line(i, { tier, width: null, height: null, price: 10 + (n % 90), quantity: 100 + (n % 900) }),
        ),
        'confirmed',
      )
    if (n % flushEach === flushEach - 1) {
      await Promise.all(images.splice(0))
      await storage.flush()
    }
    if (n % 500_000 === 499_999) process.stderr.write(`  ${n + 1} charges\n`)
  }
  await Promise.all(images)
  await storage.flush()
}

async function sellImage(storage: Storage, own: ReturnType<typeof facts>): Promise<void> {
  const tiers = ['1K', '2K', '4K'].map((tier, i) => ({
    tier,
    longEdgeMax: [1024, 2048, null][i] ?? null,
    price: 20_000 * (i + 1),
    at: 'a.yaml:1',
  }))
  const rule = { kind: 'tiers', tiers, tierFrom: ['request'], otherwise: '2K', requestedTier: '4K', warnings: [] }
  await storage.ledger.hold({ facts: { ...own, rule }, hold: 60_000, idempotency: null })
  await storage.ledger.line(own.id, line(0, { tier: '4K', source: 'request', price: 60_000 }))
  await storage.ledger.settle({ id: own.id, delivery: 'confirmed', reason: null })
}

const [firstDay, lastDay] = [until - 30 * dayMs, until - dayMs]

/** What the first page sends, as the routes ask the storage: of everybody, and of who sees only themselves. */
async function askPage(storage: Storage, by: CostPart | null, where: CostQuestion['where']): Promise<void> {
  const [since, end] = [beginningOf(options.zone, firstDay), beginningOf(options.zone, lastDay + dayMs)]
  const earlier = beginningOf(options.zone, firstDay - 30 * dayMs)
  const bars = Array.from({ length: 30 }, (_, i) => beginningOf(options.zone, firstDay + i * dayMs))
  const { rows } = await storage.journal.costs({ since, until: end, bars, by, where, apart: 20 })
  const apart = [...new Set(rows.flatMap(({ what }) => what ?? []))]
  await storage.journal.costs({ since: earlier, until: since, bars: [earlier], by, where, apart })
}

const narrowed: readonly CostQuestion['where'][] = [
  {},
  { user: 'user 7' },
  { model: 'model 3' },
  { user: 'user 7', tier: '4K' },
]

async function time(storage: Storage, name: string): Promise<void> {
  const report = async (what: string, ask: () => Promise<unknown>): Promise<void> => {
    const times: number[] = []
    for (let run = 0; run < runs; run++) {
      const from = performance.now()
      await ask()
      times.push(performance.now() - from)
    }
    process.stdout.write(`${name}  ${what.padEnd(34)} ${median(times).toFixed(1).padStart(9)} ms\n`)
  }
  for (const where of narrowed) {
    const of = Object.values(where).join(', ')
    for (const by of [null, ...costParts])
      await report(`${of} by ${by ?? 'nothing'}`, () => askPage(storage, by, where))
  }
  const since = beginningOf(options.zone, firstDay)
  const end = beginningOf(options.zone, lastDay + dayMs)
  for (const where of narrowed)
    await report(`${Object.values(where).join(', ')} avoidable`, async () =>
      storage.journal.rated({ since, until: end, where }),
    )
  const { tail } = await storage.journal.costs({ since, until: until + quarterMs, bars: [since], by: null, where: {} })
  process.stdout.write(`${name}  ${tail} charges were not added up\n`)
}

/** Nothing is added up beside the filling. */
const fillClock: Clock = { ...clock, every: () => ({ cancel: () => undefined }) }

async function fillFile(path: string, count: number, keys: number): Promise<void> {
  now = begun
  const storage = await openStorage({ url: `sqlite:${path}`, clock: fillClock, log: onlyErrors, role: 'gateway' })
  try {
    await fill(storage, count, keys)
  } finally {
    await storage.close()
  }
}

/** Adds a few charges up both ways: by the writer, and in bulk. */
async function prove(folder: string): Promise<void> {
  const [own, bulk] = [join(folder, 'writer.db'), join(folder, 'bulk.db')]
  await fillFile(own, provedCharges, provedKeys)
  await copyFile(own, bulk)
  const connection = new Connection(own)
  while (connection.transact(() => connection.run(addUpCosts())) > 0);
  connection.close()
  addUpInBulk(bulk, () => undefined)
  process.stderr.write(`  in bulk as by the writer: ${sameSums(own, bulk)} rows of ${provedCharges} charges\n`)
}

/** A file that is whole has its name. */
async function makeFile(path: string, folder: string): Promise<void> {
  const from = performance.now()
  const seconds = (): string => ((performance.now() - from) / 1_000).toFixed(0)
  await prove(folder)
  const part = `${path}.part`
  for (const end of ['', '-wal', '-shm', '.stage']) await rm(part + end, { force: true })
  await fillFile(part, charges, keysMade)
  process.stderr.write(`  filled after ${seconds()} s\n`)
  let told = performance.now()
  addUpInBulk(part, text => {
    if (performance.now() - told < 10_000) return
    told = performance.now()
    process.stderr.write(`  ${text} after ${seconds()} s\n`)
  })
  await rename(part, path)
  process.stderr.write(`  added up after ${seconds()} s\n`)
}

async function onSqlite(path: string): Promise<void> {
  now = until
  const storage = await openStorage({ url: `sqlite:${path}`, clock, log: onlyErrors, role: 'gateway' })
  try {
    await time(storage, 'sqlite  ')
  } finally {
    await storage.close()
  }
}

/** On a PostgreSQL with the same rows; `--postgres-url` keeps them, and takes what is there. */
async function onPostgres(path: string): Promise<void> {
  now = until
  const postgres =
    options['postgres-url'] === undefined ? await startPostgres(['fsync=off', 'shared_buffers=512MB']) : undefined
  try {
    const url = options['postgres-url'] ?? (await postgres?.createDatabase()) ?? ''
    const client = new Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query(`SELECT to_regclass('chain') IS NOT NULL AS is_filled`)
    if (rows[0]?.is_filled !== true) await copyFileTo(path, url, client)
    await client.end()
    if (options['fill-only']) return
    const storage = await openStorage({ url, clock, log: onlyErrors, role: 'gateway' })
    await time(storage, 'postgres')
    await storage.close()
  } finally {
    await postgres?.close()
  }
}

const on = options.on.split(',')
const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-costs-'))
try {
  const path = options.file ?? join(folder, 'tollgate.db')
  if (!existsSync(path)) await makeFile(path, folder)
  if (on.includes('sqlite') && !options['fill-only']) await onSqlite(path)
  if (on.includes('postgres')) await onPostgres(path)
} finally {
  await rm(folder, { recursive: true, force: true })
}
