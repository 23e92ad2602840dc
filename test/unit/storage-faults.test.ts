import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { mock } from 'node:test'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import type { Storage } from '../../src/domain/index.ts'
import type { Log } from '../../src/plugin-api/index.ts'
import { type Clock, systemClock } from '../../src/util/index.ts'
import { openStorage } from '../../src/storage/index.ts'
import { LogQueue } from '../../src/storage/journal/log-queue.ts'
import { begin } from '../../src/storage/ledger/recover.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { openCurrent, versionOf } from '../../src/storage/sqlite/migrate.ts'
import { holdOf, line, logRow, newKey, silentLog } from '../contract/storage.ts'
import { copyAsOf } from '../harness/old-database.ts'
import { caseName } from '../harness/case-name.ts'

function makeFile(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-faults-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'tollgate.db')
}

async function start(
  t: Test,
  path: string,
  options: { busyMs?: number; bytesMax?: number; diskBytesMin?: number } = {},
) {
  const storage = await openStorage({
    url: `sqlite:${path}`,
    clock: systemClock,
    log: silentLog,
    role: 'gateway',
    ...options,
  })
  t.teardown(() => storage.close())
  const made = newKey()
  const key = await storage.keys.create(made)
  return { storage, ledger: storage.ledger, key, readKey: async () => storage.keys.findByHash(made.hash) }
}

/** Waits until writing works again; the probe runs twice a second. */
async function recovered({ ledger }: Storage): Promise<void> {
  const until = performance.now() + 10_000
  while (!ledger.healthy()) {
    if (performance.now() > until) throw new Error('the storage did not recover in 10 s')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

const unavailable = { code: 'storage_unavailable' }

await t.test('a second gateway on one file is refused with the remedy; the first continues [D2]', async t => {
  const path = makeFile(t)
  const { ledger, key } = await start(t, path)
  const second = openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role: 'gateway' })
  await t.rejects(second, { code: 'storage_in_use', message: /another gateway already works on .*stop it/ })
  t.same(await ledger.hold(holdOf(key, 1)), { kind: 'held' })
})

await t.test('a gateway opens the file again after the one before has closed', async t => {
  const path = makeFile(t)
  const first = await openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role: 'gateway' })
  await first.close()
  const { storage } = await start(t, path)
  t.equal(storage.ledger.healthy(), true)
})

await t.test('a storage in memory works and leaves nothing behind', async t => {
  const storage = await openStorage({ url: 'sqlite::memory:', clock: systemClock, log: silentLog, role: 'gateway' })
  const key = await storage.keys.create(newKey())
  t.same(await storage.ledger.hold(holdOf(key, 1)), { kind: 'held' })
  await storage.close()
})

await t.test('another kind of address is refused without showing its password', async t => {
  const open = openStorage({ url: 'mysql://root:secret@host/db', clock: systemClock, log: silentLog, role: 'tool' })
  await t.rejects(open, { code: 'storage_url', message: /mysql:\/\/…@host/ })
})

await t.test('a file of a newer version is refused [D12]', async t => {
  const path = makeFile(t)
  const first = await openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role: 'tool' })
  await first.close()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 99')
  db.close()
  for (const role of ['gateway', 'tool'] as const) {
    const open = openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role })
    await t.rejects(open, { code: 'storage_newer' }, caseName({ role }))
  }
})

await t.test('a migration killed half-way starts again [D12]', async t => {
  const path = makeFile(t)
  const killed = new Connection(path)
  killed.db.exec('BEGIN IMMEDIATE')
  for (const statement of migrations[0]?.slice(0, 8) ?? []) killed.db.exec(statement)
  killed.close()
  const { ledger, key } = await start(t, path)
  t.same(await ledger.hold(holdOf(key, 1)), { kind: 'held' })
})

await t.test('[6.2] a database from before kept review holds keeps its content', async t => {
  const path = makeFile(t)
  const old = new Connection(path)
  for (const statement of migrations.slice(0, 4).flat()) old.db.exec(statement)
  old.db.exec(`PRAGMA user_version = 4;
    INSERT INTO key (id, name, user_name, hash, hint, status, budget, spent, held, created_at)
      VALUES ('key_old', 'old', 'local', 'abc', 'sk', 'active', 100, 0, 20, 1);
    INSERT INTO charge (id, key_id, user_name, group_name, operation, model, family, upstream, config_revision, currency, n,
        rule, state, reason, hold, owner, epoch, created_at, ended_at)
      VALUES ('req_review', 'key_old', 'local', 'g', 'o', 'm', 'f', 'u', 'c', 'USD', 1, '{}', 'needs_review', 'x', 30, 'w', 1, 1, 2),
        ('req_open', 'key_old', 'local', 'g', 'o', 'm', 'f', 'u', 'c', 'USD', 1, '{}', 'reserved', NULL, 20, 'w', 1, 1, NULL)`)
  old.close()
  const storage = await openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role: 'gateway' })
  t.teardown(() => storage.close())
  t.match(await storage.ledger.find('req_review'), { state: 'needs_review', held: 0 }, 'nothing lapses at the start')
  t.match(await storage.ledger.find('req_open'), { state: 'needs_review', reason: 'gateway_stopped' })
  t.match(await storage.keys.find('key_old'), { held: 0 })
  t.same((await storage.books.verify()).problems, [])

  const copy = new DatabaseSync(`${path}.before-schema-${migrations.length}`, { readOnly: true })
  t.match(copy.prepare('PRAGMA user_version').get(), { user_version: 4 }, 'earlier content is kept next to it')
  t.match(copy.prepare(`SELECT state FROM charge WHERE id = 'req_open'`).get(), { state: 'reserved' })
  copy.close()
  t.equal(statSync(`${path}.before-schema-${migrations.length}`).mode & 0o77, 0, 'and readable only by its owner')
})

await t.test('[10.3] a database from before stored facts continues, and its books are valid', async t => {
  const path = makeFile(t)
  const { storage, ledger, key } = await start(t, path)
  const { facts } = holdOf(key, 40_000)
  await ledger.hold({ facts, hold: 40_000, idempotency: null })
  await ledger.line(facts.id, line(0))
  await ledger.settle({ id: facts.id, delivery: 'confirmed', reason: null })
  await storage.close()
  // The same rows without the columns, and the trigger in its old form.
  const before = `${path}.before`
  copyAsOf(9, path, before)
  const again = await openStorage({ url: `sqlite:${before}`, clock: systemClock, log: silentLog, role: 'gateway' })
  t.teardown(() => again.close())
  t.match(await again.ledger.find(facts.id), { state: 'settled', vendorCost: null, lines: [line(0)] })
  t.same((await again.books.verify()).problems, [], 'rows covered by entries are unchanged')
  await again.close()
  const late = new Connection(before)
  t.throws(() => late.db.exec('UPDATE charge SET vendor_cost = 1'), /does not change/)
  t.throws(() => late.db.exec(`UPDATE line SET told = '{}'`), /do not change/)
  late.close()
})

await t.test("a database from before bounds takes administrators' key settings as bounds", async t => {
  const path = makeFile(t)
  const old = new Connection(path)
  for (const statement of migrations.slice(0, 10).flat()) old.db.exec(statement)
  old.db.exec(`PRAGMA user_version = 10;
    INSERT INTO "user" (name, group_name, role, status, created_at) VALUES ('ann', 'default', 'user', 'active', 1),
      ('root "r"', 'default', 'admin', 'active', 1);
    INSERT INTO key (id, name, user_name, hash, hint, status, budget, budget_period, models, ips, limits, expires_at, created_at)
      VALUES ('key_theirs', 'x', 'ann', 'a', 'sk', 'active', 5000000, 'day', '["m"]', '["10.0.0.0/8"]', '{"rpm":3}', 99, 1),
        ('key_own', 'x', 'ann', 'b', 'sk', 'disabled', 7, 'total', NULL, NULL, '{}', NULL, 1),
        ('key_off', 'x', 'ann', 'c', 'sk', 'disabled', 7, 'total', NULL, NULL, '{}', NULL, 1),
        ('key_first', 'x', 'local', 'd', 'sk', 'active', NULL, 'total', NULL, NULL, '{}', NULL, 1);
    INSERT INTO trail (id, at, actor, action, subject, became) VALUES ('t1', 1, 'ann', 'key.create', 'key_theirs', '{}'),
      ('t2', 2, 'root "r"', 'key.change', 'key_theirs', '{}'), ('t3', 3, 'ann', 'key.change', 'key_theirs', '{}'),
      ('t4', 1, 'ann', 'key.create', 'key_own', '{}'), ('t5', 1, 'ann', 'key.change', 'key_own', '{"status":"disabled"}'),
      ('t6', 1, 'ann', 'key.create', 'key_off', '{}'),
      ('t7', 1, 'command line', 'key.change', 'key_off', '{"status":"disabled"}'),
      ('t8', 1, 'gateway', 'key.create', 'key_first', '{}')`)
  old.close()
  const storage = await openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role: 'gateway' })
  t.teardown(() => storage.close())
  const boundsOf = async (id: string) => (await storage.keys.find(id))?.bounds
  const by = 'root "r"'
  t.same(await boundsOf('key_theirs'), {
    budget: { to: { amount: 5_000_000, per: 'day' }, by },
    limits: { to: { rpm: 3 }, by },
    models: { to: ['m'], by },
    ips: { to: ['10.0.0.0/8'], by },
    expiresAt: { to: 99, by },
  })
  t.same(await boundsOf('key_own'), {}, 'only its holder has changed it')
  t.same(await boundsOf('key_off'), {
    budget: { to: { amount: 7, per: 'total' }, by: 'command line' },
    status: { to: 'disabled', by: 'command line' },
  })
  t.same(await boundsOf('key_first'), {})
  t.match(await storage.users.find(by), { role: 'admin', keysMax: null, keyBounds: {} })
  t.match(await storage.users.change('ann', { role: 'billing' }, by), { role: 'billing' })
})

/** A file of the fourth schema, with one table that the tests fill. */
function makeOldFile(t: Test): string {
  const path = makeFile(t)
  const old = new Connection(path)
  for (const statement of migrations.slice(0, 4).flat()) old.db.exec(statement)
  old.db.exec('PRAGMA user_version = 4; CREATE TABLE kept (name TEXT)')
  old.close()
  return path
}

await t.test('without room for a copy the schema stays unchanged, and the start reports why', async t => {
  const path = makeOldFile(t)
  // A folder has the name of the copy's file, so the copy cannot be written.
  mkdirSync(`${path}.before-schema-${migrations.length}.part`)
  t.throws(() => openCurrent(path, { isOwn: true }), { code: 'storage_unavailable', message: /copy/ })
  t.equal(versionOf(path), 4)
})

await t.test(
  'the copy before a migration has the latest state, also after an earlier copy or a killed one',
  async t => {
    const path = makeOldFile(t)
    const copy = `${path}.before-schema-${migrations.length}`
    const before = readFileSync(path)
    openCurrent(path, { isOwn: true }).close()
    // The older version goes on with a restored copy, and its database is upgraded again later.
    writeFileSync(path, before)
    const old = new DatabaseSync(path)
    old.exec(`INSERT INTO kept VALUES ('later')`)
    old.close()
    writeFileSync(`${copy}.part`, 'what a killed start has left')
    openCurrent(path, { isOwn: true }).close()
    const copied = new DatabaseSync(copy, { readOnly: true })
    t.same(copied.prepare('SELECT name FROM kept').all(), [{ name: 'later' }])
    copied.close()
    t.same(
      readdirSync(dirname(path)).filter(name => name.includes('before-schema')),
      [basename(copy)],
      'no start leaves a part of a copy',
    )
  },
)

await t.test('a file that is not a database is refused', async t => {
  const path = makeFile(t)
  writeFileSync(path, 'not a database '.repeat(400))
  await t.rejects(
    openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role: 'gateway' }),
    unavailable,
  )
})

await t.test('two processes that find an empty file both open it', async t => {
  const path = makeFile(t)
  const open = (role: 'gateway' | 'tool') =>
    openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role })
  const storages = await Promise.all([open('gateway'), open('tool'), open('tool')])
  t.same(await Promise.all(storages.map(async one => (await one.users.list()).length)), [1, 1, 1])
  for (const one of storages) await one.close()
})

await t.test('a full disk refuses holds at once, and freed room is noticed without a restart [D1]', async t => {
  const path = makeFile(t)
  const { storage, ledger, key, readKey } = await start(t, path, { bytesMax: 1_500_000 })
  const request = holdOf(key, 100)
  await ledger.hold(request)
  const filler = new DatabaseSync(path, { timeout: 5_000 })
  filler.exec('CREATE TABLE filler (bytes BLOB)')
  const insert = filler.prepare('INSERT INTO filler VALUES (zeroblob(4000))')
  while (Number(filler.prepare('PRAGMA page_count').get()?.['page_count']) < 1_500_000 / 4096 + 1) insert.run()
  const wide = Array.from({ length: 200 }, () => ledger.hold(holdOf(key, 100, { size: 'x'.repeat(8_000) })))
  const failed = (await Promise.allSettled(wide)).find(result => result.status === 'rejected')
  t.match(failed?.reason, unavailable)
  t.equal(ledger.healthy(), false)
  await t.rejects(ledger.hold(holdOf(key, 100)), unavailable)
  const held = (await readKey())?.held
  filler.exec('DROP TABLE filler')
  filler.close()
  await recovered(storage)
  t.same(await ledger.hold(holdOf(key, 100)), { kind: 'held' })
  t.equal((await readKey())?.held, Number(held) + 100)
  t.same((await storage.books.verify()).problems, [])
})

await t.test('a nearly full disk: no new charge, but open ones are finished [D3]', async t => {
  const path = makeFile(t)
  const tool = await openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role: 'tool' })
  const key = await tool.keys.create(newKey())
  await tool.close()
  const { storage, ledger } = await start(t, path, { diskBytesMin: Number.MAX_SAFE_INTEGER })
  t.equal(ledger.healthy(), false)
  await t.rejects(ledger.hold(holdOf(key, 1)), unavailable)
  storage.journal.append(logRow())
  await storage.flush()
  t.equal((await storage.journal.list({ limit: 5 })).length, 1)
})

await t.test('a folder that cannot be created is reported by its name', async t => {
  const open = openStorage({
    url: 'sqlite:/dev/null/x/tollgate.db',
    clock: systemClock,
    log: silentLog,
    role: 'gateway',
  })
  await t.rejects(open, { ...unavailable, message: /\/dev\/null\/x/ })
})

await t.test('another writer holds the lock: commits wait, then are refused, then work again [D2]', async t => {
  const path = makeFile(t)
  const { storage, ledger, key } = await start(t, path, { busyMs: 200 })
  const request = holdOf(key, 100)
  await ledger.hold(request)
  const foreign = new DatabaseSync(path)
  foreign.exec('BEGIN IMMEDIATE')
  await t.rejects(ledger.line(request.facts.id, line(0)), unavailable)
  t.equal(ledger.healthy(), false)
  foreign.exec('ROLLBACK')
  foreign.close()
  await recovered(storage)
  t.equal(await ledger.line(request.facts.id, line(0)), true)
})

await t.test('the end of a charge that could not be written is written when writing works again', async t => {
  const path = makeFile(t)
  const { storage, ledger, key, readKey } = await start(t, path, { busyMs: 100 })
  const [lined, empty] = [holdOf(key, 100_000), holdOf(key, 100_000)]
  await ledger.hold(lined)
  await ledger.hold(empty)
  await ledger.line(lined.facts.id, line(0))
  const foreign = new DatabaseSync(path)
  foreign.exec('BEGIN IMMEDIATE')
  const ends = await Promise.allSettled([
    ledger.settle({ id: lined.facts.id, delivery: 'partial', reason: null }),
    ledger.review(empty.facts.id, 'timeout'),
  ])
  t.same(
    ends.map(end => end.status),
    ['rejected', 'rejected'],
  )
  foreign.exec('ROLLBACK')
  foreign.close()
  await recovered(storage)
  await storage.flush()
  t.match(await ledger.find(lined.facts.id), { state: 'settled', delivery: 'partial' })
  t.match(await ledger.find(empty.facts.id), { state: 'needs_review' })
  t.match(await readKey(), { held: 0, spent: 40_000 })
})

await t.test('a failed end of a charge is retried: no hold stays while its gateway lives', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const path = makeFile(t)
  const { ledger, key, readKey } = await start(t, path)
  const [lined, empty] = [holdOf(key, 100_000), holdOf(key, 100_000)]
  await ledger.hold(lined)
  await ledger.hold(empty)
  await ledger.line(lined.facts.id, line(0))
  const foreign = new DatabaseSync(path, { timeout: 5_000 })
  foreign.exec(
    `CREATE TRIGGER in_the_way BEFORE UPDATE OF state ON charge BEGIN SELECT RAISE(ABORT, 'in the way'); END`,
  )
  await t.rejects(ledger.settle({ id: lined.facts.id, delivery: 'partial', reason: null }), /in the way/)
  await t.rejects(ledger.void(empty.facts.id, 'not_sent'), /in the way/)
  t.equal(ledger.healthy(), true, 'others are not refused for it')
  foreign.exec('DROP TRIGGER in_the_way')
  foreign.close()
  mock.timers.tick(60_000)
  while ((await readKey())?.held !== 0) await new Promise(resolve => setTimeout(resolve, 20))
  t.match(await ledger.find(lined.facts.id), { state: 'settled', delivery: 'partial' })
  t.match(await ledger.find(empty.facts.id), { state: 'voided' })
  t.match(await readKey(), { held: 0, spent: 40_000 })
})

await t.test('a charge that can never be written releases its hold, and is reported', async t => {
  const { storage, ledger, key, readKey } = await start(t, makeFile(t))
  const request = holdOf(key, 100_000)
  await ledger.hold(request)
  ledger.post(request.facts, [{ ...line(0), price: 2e15 }], 'confirmed')
  await storage.flush()
  while ((await readKey())?.held !== 0) await new Promise(resolve => setTimeout(resolve, 20))
  t.match(await ledger.find(request.facts.id), { state: 'needs_review', reason: 'not_recordable', amount: 0 })
})

await t.test('a deleted file is noticed: nothing is written to it [D2]', async t => {
  const path = makeFile(t)
  const { storage, ledger, key } = await start(t, path)
  renameSync(path, `${path}.away`)
  await t.rejects(ledger.hold(holdOf(key, 1)), { ...unavailable, message: /moved or deleted/ })
  t.equal(ledger.healthy(), false)
  renameSync(`${path}.away`, path)
  await recovered(storage)
  t.same(await ledger.hold(holdOf(key, 1)), { kind: 'held' })
})

await t.test('a dead writer rejects its operations, is replaced, and no hold in doubt stays', async t => {
  const workers: Worker[] = []
  const watch = (worker: Worker) => workers.push(worker)
  process.on('worker', watch)
  t.teardown(() => process.off('worker', watch))
  const path = makeFile(t)
  const { storage, ledger, key, readKey } = await start(t, path)
  const kept = holdOf(key, 100_000)
  await ledger.hold(kept)
  const doubtful = Array.from({ length: 200 }, () => ledger.hold(holdOf(key, 1)))
  await Promise.race(doubtful)
  void workers[0]?.terminate()
  const results = await Promise.allSettled([
    ...doubtful,
    ...Array.from({ length: 50 }, () => ledger.hold(holdOf(key, 1))),
  ])
  const acknowledged = results.filter(result => result.status === 'fulfilled').length
  await recovered(storage)
  await storage.flush()
  t.equal((await readKey())?.held, 100_000 + acknowledged)
  t.equal(await ledger.line(kept.facts.id, line(0)), true, 'this process still owns its charges')
  t.same((await storage.books.verify()).problems, [])
})

await t.test("items in doubt at the writer's death leave no charge open", async t => {
  const workers: Worker[] = []
  const watch = (worker: Worker) => workers.push(worker)
  process.on('worker', watch)
  t.teardown(() => process.off('worker', watch))
  const path = makeFile(t)
  const { storage, ledger, key, readKey } = await start(t, path)
  const ids = Array.from({ length: 300 }, () => holdOf(key, 100_000))
  await Promise.all(ids.map(request => ledger.hold(request)))
  const lines = ids.map(({ facts }) => ledger.line(facts.id, line(0)))
  // The writer has the group; its commit and its end race.
  await Promise.resolve()
  await new Promise(resolve => setImmediate(resolve))
  void workers[0]?.terminate()
  const results = await Promise.allSettled(lines)
  await recovered(storage)
  const ended = await Promise.all(
    ids.map(({ facts }, at) =>
      results[at]?.status === 'fulfilled'
        ? ledger.settle({ id: facts.id, delivery: 'partial', reason: null })
        : ledger.review(facts.id, 'ledger unavailable'),
    ),
  )
  t.ok(ended.every(Boolean))
  t.match(await readKey(), { held: 0 })
  t.same((await storage.books.verify()).problems, [])
})

/** A gateway with unwritten charges, because another writer has locked its file for `lockedMs` of its stop. */
async function startLocked(
  t: Test,
  { lockedMs, log = silentLog, charges = 1 }: { lockedMs: number; log?: Log; charges?: number },
) {
  const path = makeFile(t)
  let stoppingMs = 0
  const clock: Clock = {
    ...systemClock,
    tick: () => systemClock.tick() + stoppingMs,
    sleep(ms) {
      if (stoppingMs < lockedMs) stoppingMs += 1_000
      else if (foreign.isTransaction) foreign.exec('ROLLBACK')
      return systemClock.sleep(ms)
    },
  }
  const storage = await openStorage({ url: `sqlite:${path}`, clock, log, role: 'gateway', busyMs: 100 })
  const key = await storage.keys.create(newKey())
  const { facts } = holdOf(key, 0)
  const foreign = new DatabaseSync(path)
  t.teardown(() => foreign.close())
  foreign.exec('BEGIN IMMEDIATE')
  storage.ledger.post(facts, [line(0)], 'confirmed')
  for (let more = 1; more < charges; more++) storage.ledger.post(holdOf(key, 0).facts, [line(0)], 'confirmed')
  await t.rejects(storage.flush(), unavailable)
  return { path, storage, id: facts.id, unlock: () => foreign.exec('ROLLBACK') }
}

await t.test('a storage that closes before its charges could be written reports each of them', async t => {
  const errors: unknown[][] = []
  const log = { ...silentLog, error: (...words: unknown[]) => void errors.push(words) }
  const { path, storage, id, unlock } = await startLocked(t, { lockedMs: 60_000, log })
  await t.rejects(storage.close(), { code: 'charges_unwritten', params: { count: 1 } })
  t.match(
    errors.filter(([, text]) => text === 'a charge is not known to be written'),
    [[{ posting: { facts: { id }, lines: [{ price: 40_000 }], delivery: 'confirmed' } }]],
  )
  unlock()
  const { storage: next } = await start(t, path)
  t.equal(await next.ledger.find(id), undefined, 'the file is free')
})

await t.test('very many charges are reported in parts, which the log has time to write', async t => {
  let reported = 0
  let inTurn = 0
  let most = 0
  const error = (_facts: unknown, text: string): void => {
    if (text !== 'a charge is not known to be written') return
    reported++
    if (inTurn++ === 0) setImmediate(() => (inTurn = 0))
    most = Math.max(most, inTurn)
  }
  const log = { ...silentLog, error: error as Log['error'] }
  const { storage } = await startLocked(t, { lockedMs: 60_000, log, charges: 4_500 })
  await t.rejects(storage.close(), { code: 'charges_unwritten', params: { count: 4_500 } })
  t.equal(reported, 4_500)
  t.ok(most <= 2_000, `${most} at once`)
})

await t.test('a closing storage waits for the end of an outage for as long as its gateway may', async t => {
  const { path, storage, id } = await startLocked(t, { lockedMs: 30_000 })
  await storage.close({ waitMs: 60_000 })
  const { storage: next } = await start(t, path)
  t.match(await next.ledger.find(id), { state: 'settled', amount: 40_000 })
})

await t.test('log rows wait while writing fails, and are written afterwards', async t => {
  const path = makeFile(t)
  const { storage } = await start(t, path, { busyMs: 100 })
  const foreign = new DatabaseSync(path)
  foreign.exec('BEGIN IMMEDIATE')
  const row = logRow()
  storage.journal.append(row)
  await t.rejects(storage.flush(), unavailable)
  foreign.exec('ROLLBACK')
  foreign.close()
  await recovered(storage)
  await storage.flush()
  t.same(
    (await storage.journal.list({ limit: 5 })).map(found => found.row),
    [row],
  )
})

await t.test('the logQueue is bounded: the oldest rows are dropped, and counted', async t => {
  const logQueue = new LogQueue()
  const row = logRow()
  for (let i = 0; i < 60_000; i++) logQueue.append(row)
  t.ok(logQueue.size <= 50_256)
  t.equal(logQueue.dropped, 60_000 - logQueue.size)
  t.equal(logQueue.through, logQueue.dropped)
})

await t.test('a folder without permissions is reported as such, and works again with them [D2]', async t => {
  const workers: Worker[] = []
  const watch = (worker: Worker) => workers.push(worker)
  process.on('worker', watch)
  t.teardown(() => process.off('worker', watch))
  const path = makeFile(t)
  const { storage, ledger, key } = await start(t, path)
  const folder = dirname(path)
  const isRoot = process.getuid?.() === 0
  // The permissions of files do not bind the administrator.
  const restore = () => {
    if (isRoot) process.seteuid?.(0)
    chmodSync(folder, 0o700)
  }
  t.teardown(restore)
  chmodSync(folder, 0)
  if (isRoot) process.seteuid?.(65_534)
  const fault = { ...unavailable, message: /tollgate\.db: this user may not write there; give it the right to/ }
  await t.rejects(ledger.hold(holdOf(key, 1)), fault)
  await workers[0]?.terminate()
  await t.rejects(async () => storage.keys.create(newKey()), fault, 'nor does a new writer find it moved')
  restore()
  await recovered(storage)
  t.same(await ledger.hold(holdOf(key, 1)), { kind: 'held' })
})

await t.test('recovery killed before its commit leaves everything to the next one [B5]', async t => {
  const path = makeFile(t)
  const tool = await openStorage({ url: `sqlite:${path}`, clock: systemClock, log: silentLog, role: 'tool' })
  const key = await tool.keys.create(newKey())
  const requests = Array.from({ length: 1_500 }, () => holdOf(key, 10))
  await Promise.all(requests.map(request => tool.ledger.hold(request)))
  await Promise.all(requests.slice(0, 1_100).map(({ facts }) => tool.ledger.line(facts.id, line(0))))
  await tool.close()
  const self = { owner: 'a', host: 'here', chain: 'gateway', part: '', zone: 'UTC', thresholds: [80, 100] }
  for (let attempt = 0; attempt < 3; attempt++) {
    const connection = new Connection(path)
    connection.db.exec('BEGIN IMMEDIATE')
    t.match(connection.run(begin(self, 5, true)), { settled: 1_100, toReview: 400 }, caseName({ attempt }))
    connection.close()
  }
  const { storage, readKey } = await start(t, path)
  t.same((await storage.books.verify()).problems, [])
  t.match(await readKey(), { held: 0 })
  const charges = await storage.books.all(null, 2_000)
  t.equal(charges.filter(charge => charge.state === 'settled').length, 1_100)
  t.equal(charges.filter(charge => charge.state === 'needs_review').length, 400)
})
