import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import {
  type Clock,
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

// `node bench/costs.ts [--charges 10000000 --on sqlite,postgres --runs 9]`: fills a database with charges of the last 60 days, by the
// storage's own way, and times what the first page of the console asks of it: what was spent in 30 days, by each part, beside the
// 30 days before; and what could have been saved.

const { values: options } = parseArgs({
  options: {
    charges: { type: 'string', default: '10000000' },
    on: { type: 'string', default: 'sqlite,postgres' },
    runs: { type: 'string', default: '9' },
  },
})
const charges = Number(options.charges)
const runs = Number(options.runs)

const days = 60
const dayMs = 86_400_000
const [keysMade, users, models] = [1_000, 50, 12]
/** Of so many charges one is of images, which has rows of its own. */
const imageEach = 100
const flushEach = 5_000
const until = Math.ceil(Date.now() / dayMs) * dayMs
const begun = until - days * dayMs

/** Time that is where the filling has come to. */
let now = begun
const clock: Clock = { now: () => now, tick: () => performance.now(), ...systemTimers }

async function fill(storage: Storage): Promise<void> {
  const keys: Key[] = []
  for (let n = 0; n < users; n++)
    await storage.users.create({ name: `user ${n}`, group: `group ${n % 5}`, role: 'user', passwordHash: null })
  for (let n = 0; n < keysMade; n++) keys.push(await storage.keys.create(newKey({ user: `user ${n % users}` })))
  const span = until - begun - 1
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
    if (n % imageEach === 0) await sellImage(storage, { ...own, operation: 'image.generate', size: '3840x2160' })
    else
      storage.ledger.post(
        { ...own, rule: { kind: 'usage', prices: [], multiplier: '1', warnings: [] } },
        ['input', 'output'].map((tier, i) =>
          line(i, { tier, width: null, height: null, price: 10 + (n % 90), quantity: 100 + (n % 900) }),
        ),
        'confirmed',
      )
    if (n % flushEach === flushEach - 1) await storage.flush()
    if (n % 500_000 === 499_999) process.stderr.write(`  ${n + 1} charges\n`)
  }
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

/** What is asked at once when the first page is opened, by what it is split by. */
const questions: readonly (readonly [name: string, by: CostQuestion['by'], where: CostQuestion['where']])[] = [
  ['by user', 'user', {}],
  ['by model', 'model', {}],
  ['by key', 'key', {}],
  ['by tier', 'tier', {}],
  ['a user by tier', 'tier', { user: 'user 7' }],
  ['a user, 4K, by model', 'model', { user: 'user 7', tier: '4K' }],
]

async function time(storage: Storage, name: string): Promise<void> {
  const since = until - 30 * dayMs
  const bars = Array.from({ length: 30 }, (_, i) => since + i * dayMs)
  const report = async (what: string, ask: () => Promise<unknown>): Promise<void> => {
    const times: number[] = []
    for (let run = 0; run < runs; run++) {
      const from = performance.now()
      await ask()
      times.push(performance.now() - from)
    }
    process.stdout.write(`${name}  ${what.padEnd(24)} ${median(times).toFixed(1).padStart(9)} ms\n`)
  }
  for (const [what, by, where] of questions)
    await report(what, () =>
      Promise.all([
        storage.journal.costs({ since, until, bars, by, where }),
        storage.journal.costs({ since: begun, until: since, bars: [begun], by, where }),
      ]),
    )
  await report('avoidable', async () => storage.journal.rated({ since, until, where: {} }))
  const { tail } = await storage.journal.costs({ since, until: until + quarterMs, bars: [since], by: null, where: {} })
  process.stdout.write(`${name}  ${tail} charges were not added up\n`)
}

async function onSqlite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-costs-'))
  const path = join(folder, 'tollgate.db')
  const storage = await openStorage({ url: `sqlite:${path}`, clock, log: onlyErrors, role: 'gateway' })
  try {
    await fill(storage)
    const connection = new Connection(path)
    while (connection.transact(() => connection.run(addUpCosts())) > 0);
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
