import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import type { Key } from '../src/domain/index.ts'
import { type Clock, firstIdAt, systemTimers } from '../src/util/index.ts'
import { foldCosts } from '../src/storage/costs/fold.ts'
import { rollUpCosts } from '../src/storage/costs/roll-up.ts'
import { openStorage } from '../src/storage/index.ts'
import { Connection } from '../src/storage/sqlite/connect.ts'
import { facts, line } from '../test/contract/storage.ts'
import { fillKeys, onlyErrors, prepareDatabase, sampleLogRow } from './fill.ts'
import { type Point, lineThrough, describePoints } from './capacity-line.ts'

// `node bench/capacity.ts [--keys 1000000] [--charges 10000000] [--steps 0.1,0.3,1] [--days 30] [--together 10]
// [--log] [--even] [--file F]`: measures the growth of an SQLite database. It fills keys by SQL, then charges (with
// `--log` a log row for each) by the storage's own code, and adds up the costs by the writer's own code. At each step
// it prints the bytes and rows of each table, the rates of both, and the time of one lookup, then a straight line
// through the steps for ten million keys and a hundred million charges. `--together`: charges of one commit. `--even`:
// every key requests as much as any other; by default 1 % of the keys send a fifth of the requests. docs/capacity.md
// has the results.

const { values: options } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' },
    charges: { type: 'string', default: '10000000' },
    steps: { type: 'string', default: '0.1,0.3,1' },
    days: { type: 'string', default: '30' },
    together: { type: 'string', default: '10' },
    log: { type: 'boolean', default: false },
    even: { type: 'boolean', default: false },
    file: { type: 'string' },
  },
})
const [keyCount, chargeCount] = [Number(options.keys), Number(options.charges)]
const steps = options.steps.split(',').map(part => Math.round(Number(part) * chargeCount))
const until = Math.floor(Date.now() / 86_400_000) * 86_400_000
const begun = until - Number(options.days) * 86_400_000
const models = 12
const together = Number(options.together)
const lookups = 2_000

let now = begun
/** Costs are added up on demand, so that their time is measured separately. */
const clock: Clock = { now: () => now, tick: () => performance.now(), ...systemTimers, every: () => ({ cancel() {} }) }
const rule = { kind: 'usage', prices: [], multiplier: '1', warnings: [] } as const

const keyOf = (n: number): number => Math.floor(keyCount * ((n * 0.618_033_988_75) % 1) ** (options.even ? 1 : 3))

/** Posts the charges of a step. @returns seconds */
async function post(url: string, from: number, to: number): Promise<number> {
  const storage = await openStorage({ url, clock, log: onlyErrors, role: 'gateway' })
  const began = performance.now()
  for (let n = from; n < to; n++) {
    now = begun + Math.floor((n * (until - begun - 1)) / chargeCount)
    const own = factsOf(n)
    const { id, keyId, user, group, model } = own
    const items = ['input', 'output'].map((tier, i) =>
      line(i, { tier, width: null, height: null, price: 10 + (n % 90), quantity: 100 + (n % 900) }),
    )
    storage.ledger.post(own, items, 'confirmed')
    if (options.log) storage.journal.append(sampleLogRow({ id, keyId, user, group, model, time: now }))
    if (n % together === together - 1) await storage.flush()
  }
  await storage.flush()
  const seconds = (performance.now() - began) / 1000
  await storage.close()
  return seconds
}

function factsOf(n: number): ReturnType<typeof facts> & { readonly rule: typeof rule } {
  const key = { id: `key_${String(keyOf(n)).padStart(20, '0')}` } as Key
  const id = firstIdAt('req_', now) + n.toString(36).padStart(10, '0')
  return { ...facts(key, { id, model: `model ${n % models}`, operation: 'chat', size: null }), rule }
}

/**
 * Adds up the costs of the posted charges, as the writer does, commit by commit, and then writes long spans.
 * @returns seconds
 */
function addUp(path: string): number {
  const began = performance.now()
  const connection = new Connection(path)
  while (connection.transact(() => connection.run(rollUpCosts())) > 0);
  while (connection.transact(() => connection.run(foldCosts(until))));
  connection.close()
  return (performance.now() - began) / 1000
}

/** Bytes of each table with its indexes, and the rows of those that have more than a few; µs of a key's lookup. */
function measure(path: string): Pick<Point, 'bytes' | 'rows' | 'lookupMicros'> {
  const db = new DatabaseSync(path)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const bytes: { [table: string]: number } = {}
  const rows: { [table: string]: number } = {}
  const sizes = `SELECT s.tbl_name AS name, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
    WHERE d.aggregate = 1 GROUP BY 1 ORDER BY 2 DESC`
  for (const row of db.prepare(sizes).all()) bytes[String(row['name'])] = Number(row['bytes'])
  for (const name of Object.keys(bytes).slice(0, 12))
    rows[name] = Number(db.prepare(`SELECT count(*) AS n FROM "${name}"`).get()?.['n'])
  const ask = db.prepare('SELECT * FROM key WHERE id = ?')
  const began = performance.now()
  for (let i = 0; i < lookups; i++) ask.get(`key_${String(keyOf(i * 7_919)).padStart(20, '0')}`)
  const lookupMicros = ((performance.now() - began) * 1000) / lookups
  db.close()
  return { bytes, rows, lookupMicros }
}

const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-capacity-'))
try {
  const path = options.file ?? join(folder, 'tollgate.db')
  const url = `sqlite:${path}`
  await prepareDatabase(url)
  const began = performance.now()
  fillKeys(path, keyCount)
  process.stderr.write(`${keyCount} keys after ${((performance.now() - began) / 1000).toFixed(0)} s\n`)
  const points: Point[] = [{ charges: 0, keys: keyCount, postSeconds: 0, addUpSeconds: 0, ...measure(path) }]
  for (const [i, to] of steps.entries()) {
    const from = steps[i - 1] ?? 0
    const postSeconds = await post(url, from, to)
    process.stderr.write(`${to} charges: posted in ${postSeconds.toFixed(0)} s\n`)
    const addUpSeconds = addUp(path)
    process.stderr.write(`${to} charges: added up in ${addUpSeconds.toFixed(0)} s\n`)
    points.push({ charges: to, keys: keyCount, postSeconds, addUpSeconds, ...measure(path) })
    const goal = { keys: 10_000_000, charges: 100_000_000 }
    process.stdout.write(`\n${describePoints(points)}\n${lineThrough(points, goal)}`)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
