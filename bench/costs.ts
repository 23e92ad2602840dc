import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { type CostPart, costParts, type CostQuery, type Key, quarterMs, type Storage } from '../src/domain/index.ts'
import { beginningOf, type Clock, systemTimers } from '../src/util/index.ts'
import { foldCosts } from '../src/storage/costs/fold.ts'
import { rollUpCosts } from '../src/storage/costs/roll-up.ts'
import { quarterOfSpan } from '../src/storage/costs/spans.ts'
import { openStorage } from '../src/storage/index.ts'
import { Connection } from '../src/storage/sqlite/connect.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { addUpInBulk, endOf, sameSums } from './bulk-costs.ts'
import { type Charges, makeKeys, sell } from './cost-charges.ts'
import { copyFileTo } from './copy-file-to.ts'
import { onlyErrors } from './fill.ts'
import { median } from './measure.ts'

// `node bench/costs.ts [--charges 10000000] [--keys 20000] [--even] [--zone Asia/Shanghai] [--on sqlite,postgres]
// [--runs 9] [--file F] [--postgres-url U] [--fill-only]`: fills an SQLite file with the sums of charges of 60 days, in
// bulk (compared with charges that are sold and added up by the writer, at a few thousand), copies it to PostgreSQL,
// and times the requests of the console's first page, for all users and for one user: spend in 30 days, by each
// part, and in the 30 days before; possible savings. `--file` and `--postgres-url` keep the filled data, and use
// existing data unchanged: filling and measuring can be two runs.

const { values: options } = parseArgs({
  options: {
    charges: { type: 'string', default: '10000000' },
    keys: { type: 'string', default: '20000' },
    even: { type: 'boolean', default: false },
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
/** The number of charges at which the bulk sums are compared with the writer's. */
const provedCharges = 4_000
const provedKeys = 300
/** After the last day that a file contains, or will contain. */
const until = Math.ceil((lastOf(options.file) ?? Date.now()) / dayMs) * dayMs
const begun = until - days * dayMs

/** A clock at the position of the filling. */
let now = begun
const clock: Clock = { now: () => now, tick: () => performance.now(), ...systemTimers }

function lastOf(path: string | undefined): number | undefined {
  if (path === undefined || !existsSync(path)) return undefined
  const db = new DatabaseSync(path, { readOnly: true })
  const row = db.prepare(`SELECT max(span) AS span FROM cost_part_sum WHERE part = ''`).get()
  db.close()
  return quarterOfSpan(Number(row?.['span']), 0) * quarterMs
}

const [firstDay, lastDay] = [until - 30 * dayMs, until - dayMs]

/**
 * The requests of the first page, as the routes send them to the storage: for all users, and for a user who sees only
 * themselves.
 */
async function askPage(storage: Storage, by: CostPart | null, where: CostQuery['where']): Promise<void> {
  const [since, end] = [beginningOf(options.zone, firstDay), beginningOf(options.zone, lastDay + dayMs)]
  const earlier = beginningOf(options.zone, firstDay - 30 * dayMs)
  const bars = Array.from({ length: 30 }, (_, i) => beginningOf(options.zone, firstDay + i * dayMs))
  const { rows } = await storage.journal.costs({ since, until: end, bars, by, where, apart: 20 })
  const apart = [...new Set(rows.flatMap(({ what }) => what ?? []))]
  await storage.journal.costs({ since: earlier, until: since, bars: [earlier], by, where, apart })
}

const narrowed: readonly CostQuery['where'][] = [
  {},
  { user: 'user 7' },
  { model: 'model 3' },
  { user: 'user 7', tier: '4K' },
  { group: 'group 2' },
  { operation: 'chat' },
  { upstream: 'alpha' },
  { tier: 'input' },
  { model: 'model 3', tier: 'output' },
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

/** Nothing else is added up during the filling. */
const fillClock: Clock = { ...clock, every: () => ({ cancel: () => undefined }) }

async function withFile<T>(path: string, work: (storage: Storage) => Promise<T>): Promise<T> {
  now = begun
  const storage = await openStorage({ url: `sqlite:${path}`, clock: fillClock, log: onlyErrors, role: 'gateway' })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

const chargesOf = (count: number, keys: readonly Key[]): Charges => ({
  count,
  begun,
  until,
  isEven: options.even,
  keys: keys.map(({ id }) => id),
})

/** Adds a few charges up both ways: sold and by the writer, and in bulk. */
async function prove(folder: string): Promise<void> {
  const [own, bulk] = [join(folder, 'writer.db'), join(folder, 'bulk.db')]
  const keys = await withFile(own, storage => makeKeys(storage, provedKeys))
  const few = chargesOf(provedCharges, keys)
  await copyFile(own, bulk)
  await withFile(own, storage => sell(storage, few, keys, at => void (now = at)))
  const connection = new Connection(own)
  while (connection.transact(() => connection.run(rollUpCosts())) > 0);
  const foldedAt = (endOf(few) + 1) * quarterMs
  while (connection.transact(() => connection.run(foldCosts(foldedAt))));
  connection.close()
  addUpInBulk(bulk, few, () => undefined)
  process.stderr.write(`  in bulk as by the writer: ${sameSums(own, bulk)} rows of ${provedCharges} charges\n`)
}

/** A complete file has its final name. */
async function makeFile(path: string, folder: string): Promise<void> {
  const from = performance.now()
  const seconds = (): string => ((performance.now() - from) / 1_000).toFixed(0)
  await prove(folder)
  const part = `${path}.part`
  for (const end of ['', '-wal', '-shm']) await rm(part + end, { force: true })
  const keys = await withFile(part, storage => makeKeys(storage, keysMade))
  process.stderr.write(`  keys after ${seconds()} s\n`)
  let told = performance.now()
  addUpInBulk(part, chargesOf(charges, keys), text => {
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

/** On a PostgreSQL with the same rows; `--postgres-url` keeps them, and uses existing ones. */
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
