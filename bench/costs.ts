import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
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
import { openStorage } from '../src/storage/index.ts'
import { createPool, Session } from '../src/storage/postgres/connect.ts'
import { Connection } from '../src/storage/sqlite/connect.ts'
import { facts, line, newKey } from '../test/contract/storage.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { onlyErrors } from './fill.ts'
import { median } from './measure.ts'

// `node bench/costs.ts [--charges 10000000] [--keys 20000] [--zone Asia/Shanghai] [--on sqlite,postgres] [--runs 9] [--file F]`:
// fills a database with charges of the last 60 days, by the storage's own way, and times what the first page of the console asks of it, of everybody and of one user:
// what was spent in 30 days, by each part, beside the 30 days before; what could have been saved. `--file` keeps the database of SQLite, and takes what it holds
// as it is.

const { values: options } = parseArgs({
  options: {
    charges: { type: 'string', default: '10000000' },
    keys: { type: 'string', default: '20000' },
    zone: { type: 'string', default: 'Asia/Shanghai' },
    on: { type: 'string', default: 'sqlite,postgres' },
    file: { type: 'string' },
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
const until = Math.ceil(Date.now() / dayMs) * dayMs
const begun = until - days * dayMs

/** One object: charges that share it share their terms in a segment, as those of a model do. */
const usageRule: ChargeRule = { kind: 'usage', prices: [], multiplier: '1', warnings: [] }

/** Time that is where the filling has come to. */
let now = begun
const clock: Clock = { now: () => now, tick: () => performance.now(), ...systemTimers }

async function fill(storage: Storage): Promise<void> {
  const keys: Key[] = []
  for (let n = 0; n < users; n++)
    await storage.users.create({ name: `user ${n}`, group: `group ${n % 5}`, role: 'user', passwordHash: null })
  for (let n = 0; n < keysMade; n++) keys.push(await storage.keys.create(newKey({ user: `user ${n % users}` })))
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

async function onSqlite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-costs-'))
  const path = options.file ?? join(folder, 'tollgate.db')
  const isFilled = existsSync(path)
  const storage = await openStorage({ url: `sqlite:${path}`, clock, log: onlyErrors, role: 'gateway' })
  try {
    if (!isFilled) await fill(storage)
    const connection = new Connection(path)
    const from = performance.now()
    while (connection.transact(() => connection.run(addUpCosts())) > 0);
    process.stderr.write(`  added up in ${((performance.now() - from) / 1_000).toFixed(0)} s\n`)
    connection.close()
    await time(storage, 'sqlite  ')
  } finally {
    await storage.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function onPostgres(): Promise<void> {
  const postgres = await startPostgres(['fsync=off', 'shared_buffers=512MB'])
  try {
    const url = await postgres.createDatabase()
    const storage = await openStorage({ url, clock, log: onlyErrors, role: 'gateway' })
    await fill(storage)
    const pool = createPool(url, 1)
    for (let count = 1; count > 0; ) {
      const client = await pool.connect()
      await client.query('BEGIN')
      count = await new Session(client).run(addUpCosts())
      await client.query('COMMIT')
      client.release()
    }
    await pool.end()
    await time(storage, 'postgres')
    await storage.close()
  } finally {
    await postgres.close()
  }
}

const on = options.on.split(',')
if (on.includes('sqlite')) await onSqlite()
now = begun
if (on.includes('postgres')) await onPostgres()
