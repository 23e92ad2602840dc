import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Key, type LogMatch, type LogTotals, type Storage, unknownOfLogRow } from '../src/domain/index.ts'
import { type Clock, firstIdAt, systemTimers } from '../src/util/index.ts'
import { openStorage } from '../src/storage/index.ts'
import { dropChanged, writeBatchCharges, sumNextBatch } from '../src/storage/journal/batch-charges.ts'
import { createPool, Session } from '../src/storage/postgres/connect.ts'
import type { QueryProgram } from '../src/storage/query.ts'
import { Connection } from '../src/storage/sqlite/connect.ts'
import { facts, line, newKey } from '../test/contract/storage.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { onlyErrors } from './fill.ts'

// `node bench/totals.ts [--requests 1000000] [--on sqlite,postgres] [--file F [--kept]]`: fills a database with
// requests of 30 days and their charges, by the storage's own code, and times the totals above the log: the first
// answer, the longest, their number, and all of them. Once with the sums that a gateway stores with pages of the log,
// and once without: as in a database of an earlier version. Meanwhile a list is read and a row is written repeatedly:
// the waiting times of both are measured. `--file` keeps the filled data, `--kept` uses existing data.

const { values: options } = parseArgs({
  options: {
    requests: { type: 'string', default: '1000000' },
    on: { type: 'string', default: 'sqlite,postgres' },
    file: { type: 'string' },
    kept: { type: 'boolean', default: false },
  },
})
const requests = Number(options.requests)
const dayMs = 86_400_000
const [begun, days, users, models] = [Date.UTC(2026, 9, 1), 30, 50, 12]
/** One in this many requests is of images, and one fails. */
const [imageEach, failEach] = [50, 40]
const flushEach = 5_000

let now = begun
const clock: Clock = { now: () => now, tick: () => performance.now(), ...systemTimers }

async function fill(storage: Storage): Promise<void> {
  const keys: Key[] = []
  for (let n = 0; n < users; n++) {
    await storage.users.create({ name: `user ${n}`, group: `group ${n % 5}`, role: 'user', passwordHash: null })
    keys.push(await storage.keys.create(newKey({ user: `user ${n}` })))
  }
  const images: Promise<void>[] = []
  for (let n = 0; n < requests; n++) {
    now = begun + Math.floor((n * days * dayMs) / requests)
    const key = keys[n % users] as Key
    const isImage = n % imageEach === 0
    const isFailed = n % failEach === 1
    const own = facts(key, {
      id: firstIdAt('req_', now) + n.toString(36).padStart(10, '0'),
      user: key.user,
      group: `group ${(n % users) % 5}`,
      model: `model ${n % models}`,
      operation: isImage ? 'image.generate' : 'chat',
    })
    if (isImage) images.push(sellImage(storage, own))
    else if (!isFailed)
      storage.ledger.post(
        { ...own, size: null },
        [line(0, { tier: 'output', width: null, height: null, price: 10 + (n % 90), quantity: 100 })],
        'confirmed',
      )
    storage.journal.append({
      id: own.id,
      time: now,
      keyId: key.id,
      user: own.user,
      group: own.group,
      model: own.model,
      operation: own.operation,
      status: isFailed ? 500 : 200,
      outcome: 'answered',
      errorCode: null,
      durationMs: 700 + (n % 500),
      upstream: n % 3 ? 'alpha' : 'beta',
      configRevision: '0123456789ab',
      forwarded: ['model', 'messages'],
      dropped: [],
      clientRequestId: null,
      inputTokens: 230,
      outputTokens: 100,
      ...unknownOfLogRow,
    })
    if (n % flushEach === flushEach - 1) {
      await Promise.all(images.splice(0))
      await storage.flush()
    }
    if (n % 100_000 === 99_999) process.stderr.write(`  ${n + 1} requests\n`)
  }
  await Promise.all(images)
  await storage.flush()
}

async function sellImage(storage: Storage, own: ReturnType<typeof facts>): Promise<void> {
  await storage.ledger.hold({ facts: own, hold: 60_000, idempotency: null })
  await storage.ledger.line(own.id, line(0, { tier: '2K', source: 'request' }))
  await storage.ledger.settle({ id: own.id, delivery: 'confirmed', reason: null })
}

const [since, until] = [begun + 3.3 * dayMs, begun + 27.7 * dayMs]
const filters: readonly (readonly [name: string, match: LogMatch])[] = [
  ['all', {}],
  ['24.4 days', { since, until }],
  ['a model', { model: 'model 3' }],
  ['a user', { user: 'user 7' }],
  ['a group, 24.4 days', { group: 'group 1', since, until }],
  ['status 5xx', { status: '5xx' }],
  ['status 200', { status: 200 }],
  ['an upstream', { upstream: 'alpha' }],
  ['settled', { charge: 'settled' }],
  ['tier 2K', { tier: '2K' }],
]

/** The longest times of a list and a write while `work` ran. */
async function besides(storage: Storage, work: () => Promise<void>): Promise<readonly [list: number, write: number]> {
  const longest = { list: 0, write: 0 }
  const run = { isOver: false }
  const again = async (name: keyof typeof longest, act: () => unknown): Promise<void> => {
    while (!run.isOver) {
      const from = performance.now()
      await act()
      longest[name] = Math.max(longest[name], performance.now() - from)
      await setTimeout(20)
    }
  }
  const both = [
    again('list', () => storage.journal.list({ limit: 50 })),
    again('write', () => storage.users.topUp('user 1', 1, null, 'bench')),
  ]
  await work().finally(() => (run.isOver = true))
  await Promise.all(both)
  return [longest.list, longest.write]
}

async function time(storage: Storage, name: string): Promise<void> {
  // Threads start with the first query.
  await Promise.all([storage.journal.list({ limit: 1 }), storage.journal.totals({ since: now })])
  const [list, write] = await besides(storage, async () => {
    for (const [of, match] of filters) process.stdout.write(`${name} ${await timeFilter(storage, of, match)}`)
  })
  process.stdout.write(`${name} meanwhile a list took at most ${list.toFixed(0)} ms, a write ${write.toFixed(0)} ms\n`)
}

async function timeFilter(storage: Storage, of: string, match: LogMatch): Promise<string> {
  const from = performance.now()
  let [first, longest, answers, counted] = [0, 0, 0, 0]
  for (let next: string | null = ''; next !== null; answers++) {
    const asked = performance.now()
    const found: LogTotals = await storage.journal.totals({ ...match, lookups: false, ...(next && { before: next }) })
    longest = Math.max(longest, performance.now() - asked)
    first ||= longest
    counted += found.requests
    next = found.next
  }
  const ms = (value: number): string => `${value.toFixed(0).padStart(6)} ms`
  const all = performance.now() - from
  return `${of.padEnd(20)} ${String(counted).padStart(9)} requests ${String(answers).padStart(4)} answers, the first ${ms(first)}, the longest ${ms(longest)}, all ${ms(all)}\n`
}

/** Runs at once what a gateway runs in the background, at some pages per minute. */
async function keepPages(
  name: string,
  run: <T>(steps: QueryProgram<T>, kind: 'read' | 'write') => T | Promise<T>,
): Promise<void> {
  const from = performance.now()
  let [pages, longest, bytes, written] = [0, 0, 0, 0]
  while ((await run(dropChanged(now), 'write')).places > 0);
  for (let before = Number.MAX_SAFE_INTEGER; ; pages++) {
    const asked = performance.now()
    const found = await run(sumNextBatch({ at: now, before }), 'read')
    longest = Math.max(longest, performance.now() - asked)
    if (!found) break
    before = found.lastMs
    bytes += found.body?.length ?? 0
    const writing = performance.now()
    await run(writeBatchCharges(found), 'write')
    written += performance.now() - writing
  }
  const all = performance.now() - from
  const each = (value: number): string => (value / Math.max(pages, 1)).toFixed(1)
  process.stdout.write(
    `${name} kept beside ${pages} pages: ${each(all)} ms each, ${longest.toFixed(0)} ms at most, of it ${each(written)} ms of the writer; ${each(bytes / 1_024)} KiB each\n`,
  )
}

/** Separate connections of the storage at `url`. */
async function keepPagesOf(url: string, name: string): Promise<void> {
  if (url.startsWith('sqlite:')) {
    const connection = new Connection(url.slice('sqlite:'.length))
    await keepPages(name, (steps, kind) =>
      kind === 'read' ? connection.snapshot(steps) : connection.transact(() => connection.run(steps)),
    )
    connection.close()
    return
  }
  const pool = createPool(url, 1)
  const client = await pool.connect()
  await keepPages(name, async steps => {
    await client.query('BEGIN')
    const value = await new Session(client).run(steps)
    await client.query('COMMIT')
    return value
  })
  client.release()
  await pool.end()
}

async function measure(url: string, name: string): Promise<void> {
  const storage = await openStorage({ url, clock, log: onlyErrors, role: 'gateway' })
  try {
    const from = performance.now()
    if (!options.kept) {
      await fill(storage)
      process.stderr.write(`  filled in ${((performance.now() - from) / 1_000).toFixed(0)} s\n`)
    } else now = begun + days * dayMs
    let state = await storage.books.rebuildCosts()
    while (!state.isDone) state = await storage.books.rebuildCosts(state)
    await time(storage, `${name} as it was     `)
    await keepPagesOf(url, name)
    await time(storage, `${name} with what is kept`)
  } finally {
    await storage.close()
  }
}

const on = options.on.split(',')
if (on.includes('sqlite')) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-totals-'))
  await measure(`sqlite:${options.file ?? join(folder, 'tollgate.db')}`, 'sqlite  ').finally(() =>
    rm(folder, { recursive: true, force: true }),
  )
}
now = begun
if (on.includes('postgres')) {
  const postgres = await startPostgres(['fsync=off', 'shared_buffers=256MB'])
  await measure(await postgres.createDatabase(), 'postgres').finally(() => postgres.close())
}
