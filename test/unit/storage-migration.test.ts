import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Client } from 'pg'
import { systemClock } from '../../src/util/clock.ts'
import { migrateStorage, openStorage } from '../../src/storage/index.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { createPool } from '../../src/storage/postgres/connect.ts'
import { makeClock, makeVersion, migrateFrom } from '../../src/storage/postgres/migrate.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { versionOf } from '../../src/storage/sqlite/migrate.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { clockAt, holdOf, line, newKey, silentLog } from '../contract/storage.ts'
import { caseName } from '../harness/case-name.ts'
import { startPostgres } from '../harness/postgres.ts'

const known = migrations.length
const older = 19
const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

const open = (url: string, role: 'gateway' | 'worker' | 'tool', more: { readonly busyMs?: number } = {}) =>
  openStorage({ url, role, clock: systemClock, log: silentLog, ...more })

function oldFile(t: Test): string {
  const path = join(t.testdir(), 'old.db')
  const old = new Connection(path)
  for (const statement of migrations.slice(0, older).flat()) old.db.exec(statement)
  old.db.exec(`PRAGMA user_version = ${older}`)
  old.close()
  return path
}

async function oldDatabase(): Promise<string> {
  const url = await postgres.createDatabase()
  const pool = createPool(url, 1)
  const client = await pool.connect()
  await makeVersion(client, older)
  await makeClock(client)
  await migrateFrom(client, 0, older)
  client.release()
  await pool.end()
  return url
}

async function versionIn(url: string): Promise<number> {
  const client = await postgres.connect(url)
  try {
    return Number((await client.query('SELECT version FROM tollgate_schema')).rows[0]?.version)
  } finally {
    await client.end()
  }
}

t.test('a command or a worker refuses an older schema with the remedy, and changes nothing', async t => {
  const refused = {
    code: 'storage_older',
    message: /older version \(19; this version needs \d+\).*stop every older gateway.*tollgate storage migrate/s,
  }
  const path = oldFile(t)
  const url = await oldDatabase()
  for (const role of ['tool', 'worker'] as const) {
    await t.rejects(open(`sqlite:${path}`, role), refused, caseName({ role }))
    await t.rejects(open(url, role), refused, caseName({ role }))
  }
  t.equal(versionOf(path), older)
  t.equal(await versionIn(url), older)
})

t.test('a schema that only has the number of an earlier one is refused with the remedy, and not changed', async t => {
  const refused = {
    code: 'storage_unlike',
    message: /cannot be migrated from schema 19: .*stored_object.* Nothing was changed.*run that version/s,
  }
  const early = 'CREATE TABLE stored_object (id TEXT)'
  const path = oldFile(t)
  const db = new DatabaseSync(path)
  db.exec(early)
  db.close()
  const url = await oldDatabase()
  const client = await postgres.connect(url)
  await client.query(early)
  await client.end()
  await t.rejects(open(`sqlite:${path}`, 'gateway'), refused)
  await t.rejects(open(url, 'gateway'), refused)
  t.equal(versionOf(path), older)
  t.equal(await versionIn(url), older)
})

t.test('a migration of a file waits for the gateway that has it, and names it', async t => {
  const path = oldFile(t)
  const url = `sqlite:${path}`
  // Every version locks a file in this way.
  const lock = new DatabaseSync(`${path}.lock`)
  lock.exec('BEGIN EXCLUSIVE')
  const db = new DatabaseSync(path)
  db.exec(`INSERT INTO replica (owner, epoch, host, started_at, lease_until) VALUES ('old', 1, 'far:4242', 1, 2)`)
  await t.rejects(open(url, 'gateway'), { code: 'storage_in_use', message: /old\.db \(far:4242\)/ })
  const waits: string[] = []
  const migrated = await migrateStorage({
    url,
    clock: {
      ...systemClock,
      async sleep() {
        if (waits.length === 1) lock.close()
        else db.close()
      },
    },
    onWait: waitsFor => void waits.push(...waitsFor),
  })
  t.same(waits, ['gateway (far:4242)', 'a process that has the file open'], 'and for commands that have it open')
  t.same(migrated, { from: older, to: known })
  t.same(await migrateStorage({ url, clock: systemClock, onWait: () => void t.fail('nobody is waited for') }), {
    from: known,
    to: known,
  })
})

t.test('a gateway whose address has the application name of earlier versions does not wait for itself', async t => {
  const url = `${await oldDatabase()}?application_name=tollgate`
  const onWait = (waitsFor: readonly string[]): never => {
    throw new Error(`it waits for ${waitsFor.join()}`)
  }
  t.same(await migrateStorage({ url, clock: systemClock, onWait }), { from: older, to: known })
})

t.test('a gateway does not migrate a file that another process has open', async t => {
  const path = oldFile(t)
  const reader = new DatabaseSync(path, { readOnly: true })
  reader.prepare('SELECT count(*) FROM key').get()
  await t.rejects(open(`sqlite:${path}`, 'gateway', { busyMs: 50 }), {
    code: 'storage_open',
    message: /another process has the file open/,
  })
  t.equal(versionOf(path), older)
  reader.close()
  await (await open(`sqlite:${path}`, 'gateway')).close()
  t.equal(versionOf(path), known)
})

t.test('a migration of PostgreSQL waits for leases and connections of older processes, and names them', async t => {
  const url = await oldDatabase()
  const session = new Client({ connectionString: url, application_name: 'tollgate' })
  await session.connect()
  await session.query(
    `INSERT INTO replica (owner, epoch, host, started_at, lease_until) VALUES ('old', 1, 'far:4242', 1, now_ms() + 60000)`,
  )
  const waits: string[] = []
  const migrating = openStorage({
    url,
    role: 'gateway',
    log: silentLog,
    clock: {
      ...systemClock,
      async sleep() {
        t.equal(await versionIn(url), older)
        if (waits.length === 1) await session.query('UPDATE replica SET lease_until = 0')
        else await session.end()
      },
    },
    onWait: waitsFor => void waits.push(...waitsFor),
  })
  await (await migrating).close()
  t.match(waits, ['gateway far:4242', /^connection \d+ from 127\.0\.0\.1$/])
  t.equal(await versionIn(url), known)
})

for (const [name, harness] of [
  ['SQLite', sqliteHarness],
  ['PostgreSQL', postgresHarness(postgres)],
] as const) {
  t.test(`${name}: a gateway that finds a newer schema stops writing`, async t => {
    const base = await harness()
    const gateway = await base.open('gateway')
    await gateway.users.create({ name: 'ann', group: 'default', role: 'user', passwordHash: null })
    const key = await gateway.keys.create(newKey({ user: 'ann' }))
    const opened = holdOf(key, 100)
    await gateway.ledger.hold(opened)
    const bump =
      name === 'SQLite' ? `PRAGMA user_version = ${known + 1}` : `UPDATE tollgate_schema SET version = ${known + 1}`
    await base.edit(bump)
    const newer = { code: 'storage_unavailable', message: new RegExp(`newer version \\(schema ${known + 1}`) }
    await t.rejects(async () => gateway.ledger.hold(holdOf(key, 100)), newer)
    t.notOk(gateway.ledger.healthy(), 'it takes no more work')
    await t.rejects(async () => gateway.keys.revoke(key.id), newer, 'nothing is written, whatever it is')
    await gateway.close()
    t.same(await base.read(`SELECT count(*) AS count FROM charge`), [{ count: 1 }])
    await base.close()
  })

  t.test(`${name}: an error of the storage keeps its names`, async t => {
    const base = await harness()
    const storage = await base.open('gateway')
    await t.rejects(async () => storage.keys.create(newKey({ user: 'nobody' })), {
      code: 'user_unknown',
      params: { name: 'nobody' },
      message: 'the user nobody does not exist; create it first',
    })
    await storage.close()
    await base.close()
  })

  t.test(`${name}: budgets are corrected by their charges, next to a gateway that books`, async t => {
    const base = await harness()
    const storage = await base.open('gateway')
    await storage.users.create({ name: 'ann', group: 'team', role: 'user', passwordHash: null })
    const key = await storage.keys.create(newKey({ user: 'ann', budget: 1_000_000 }))
    const levels = [{ kind: 'user', name: 'ann', amount: 1_000_000, per: 'month' }] as const
    const buy = async (): Promise<void> => {
      const request = { ...holdOf(key, 50_000, { user: 'ann', group: 'team' }), levels }
      t.match(await storage.ledger.hold(request), { kind: 'held' })
      await storage.ledger.line(request.facts.id, line(0))
      await storage.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    }
    await buy()
    await buy()
    await storage.ledger.hold({ ...holdOf(key, 50_000, { user: 'ann', group: 'team' }), levels })
    const [levelsBefore, keyBefore] = [await storage.books.levels(), await storage.keys.find(key.id)]
    t.match(await storage.books.verify(), { problems: [], budgets: 0 })
    t.same(await storage.books.repairBudgets('ops'), [], 'correct values are not changed')

    // As after gateways of different versions: one account lacks a charge, one is missing, and a key holds too much.
    await base.tamper(
      `UPDATE account SET spent = spent - 40000, day_spent = day_spent - 40000, month_spent = month_spent - 40000, held = 7 WHERE kind = 'user'`,
    )
    await base.tamper(`DELETE FROM account WHERE kind = 'group'`)
    await base.tamper(
      `UPDATE key SET held = held + 11, spent = spent + 5, day_start = 0, day_spent = 0 WHERE id = '${key.id}'`,
    )
    const found = await storage.books.verify()
    t.match(found, { budgets: 3 })
    t.ok(found.problems.includes('group team: has no account, but charges of 80000'), found.problems.join())

    const [corrected] = await Promise.all([storage.books.repairBudgets('ops'), buy(), buy()])
    t.same(corrected?.map(({ payer: { kind, name } }) => `${kind} ${name}`).sort(), [
      'group team',
      `key ${key.id}`,
      'user ann',
    ])
    t.match(await storage.books.verify(), { problems: [], budgets: 0 })
    const after = 2 * 40_000
    t.same(
      await storage.books.levels(),
      levelsBefore.map(({ spent: { total, day, month }, ...level }) => ({
        ...level,
        spent: { total: total + after, day: day + after, month: month + after },
      })),
    )
    t.match(await storage.keys.find(key.id), { spent: (keyBefore?.spent ?? 0) + after, held: keyBefore?.held ?? -1 })
    t.match(await storage.trail.list({ limit: 3, action: 'budget.correct' }), [{ actor: 'ops' }, {}, {}])

    await base.tamper(`UPDATE account SET spent = spent + 1 WHERE kind = 'user'`)
    await base.tamper(`UPDATE charge SET amount = amount + 1 WHERE state = 'settled'`)
    t.equal(await storage.books.repairBudgets('ops'), undefined, 'invalid charges correct nothing')
    await storage.close()
    await base.close()
  })
}

const dayMs = 86_400_000
const today = Date.UTC(2027, 4, 16)
/** Spend of ann before the migration: two, three and eight days ago. */
const spentBefore = [
  `INSERT INTO account (kind, name, part, spent, held, day_start, day_spent, month_start, month_spent, budget_told)
    VALUES ('user', 'ann', '', 600, 0, ${today - 2 * dayMs}, 100, ${Date.UTC(2027, 4)}, 600, '[]')`,
  `INSERT INTO account_spell (kind, name, part, period, start, spent, turn) VALUES
    ('user', 'ann', '', 'day', ${today - 8 * dayMs}, 300, 1), ('user', 'ann', '', 'day', ${today - 3 * dayMs}, 200, 2)`,
]

for (const database of ['SQLite', 'PostgreSQL'] as const)
  t.test(`${database}: windows count the days before a migration, which adds budgets of end users`, async t => {
    const path = database === 'SQLite' ? oldFile(t) : undefined
    const url = path === undefined ? await oldDatabase() : `sqlite:${path}`
    const run = async (statements: readonly string[]): Promise<readonly object[]> => {
      if (path !== undefined) {
        const db = new DatabaseSync(path)
        const rows = statements.map(sql => db.prepare(sql).all())
        db.close()
        return rows.at(-1) ?? []
      }
      const client = await postgres.connect(url)
      let rows: readonly object[] = []
      for (const sql of statements) rows = (await client.query(sql)).rows as readonly object[]
      await client.end()
      return rows
    }
    await run(spentBefore)
    const clock = clockAt(today + dayMs / 2)
    const storage = await openStorage({ url, role: 'gateway', clock, log: silentLog })
    t.teardown(() => storage.close())
    t.match(await storage.books.levels([{ kind: 'user', name: 'ann' }], ['7d', '30d', 'week']), [
      { kind: 'user', held: 0, spent: { total: 600, day: 0, month: 600, '7d': 300, '30d': 600, week: 300 } },
    ])
    await storage.users.create({ name: 'ann', group: 'default', role: 'user', passwordHash: null })
    const key = await storage.keys.create(newKey({ user: 'ann' }))
    const id = await storage.labels.idOf({ kind: 'end_user', name: 'ada', keyId: key.id, most: 5, mostPerKey: 5 })
    const levels = [
      { kind: 'user', name: 'ann', amount: 400, per: '7d' },
      { kind: 'end_user', name: `${id} ann`, amount: 150, per: 'week' },
    ] as const
    const request = { ...holdOf(key, 100, { user: 'ann', attribution: id }), levels }
    t.match(await storage.ledger.hold(request), { kind: 'held' })
    const more = { ...holdOf(key, 1, { user: 'ann', attribution: id }), levels: levels.slice(0, 1) }
    t.match(await storage.ledger.hold(more), { kind: 'overdrawn', level: 'user', availableMicros: 0, heldMicros: 100 })
    await storage.ledger.line(request.facts.id, line(0, { price: 60 }))
    await storage.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    t.match(await storage.ledger.hold({ ...more, facts: holdOf(key, 1).facts }), { kind: 'held' })
    await storage.flush()
    const left = await run([`SELECT spent FROM account_spell WHERE name = 'ann' AND period = 'day' ORDER BY start`])
    t.same(
      left.map(row => Number((row as { readonly spent: unknown }).spent)),
      [300, 200, 100],
      'the day that it was in is kept when it is left',
    )
    t.match(await storage.books.endUsers(['week']), [{ called: 'ada', held: 0, spent: { week: 60 } }])
  })
