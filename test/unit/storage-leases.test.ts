import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/util/index.ts'
import { backupStorage, restoreStorage } from '../../src/storage/index.ts'
import { begin, beat } from '../../src/storage/ledger/recover.ts'
import { transact, useClient } from '../../src/storage/postgres/commit.ts'
import { createPool } from '../../src/storage/postgres/connect.ts'
import { prepareDatabase } from '../../src/storage/postgres/prepare.ts'
import { ask, type Rows, type QueryProgram } from '../../src/storage/query.ts'
import { whole } from '../../src/storage/rows.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { migrate } from '../../src/storage/sqlite/migrate.ts'
import { anchorsContract } from '../contract/anchors.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { clockAt, holdOf, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { startPostgres } from '../harness/postgres.ts'
import { caseName } from '../harness/case-name.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

const now = 1_800_000_000_000
const day = 24 * 3_600_000

/** A database under a given clock: runs steps as of a time. */
type Base = { run<T>(at: number, steps: (at: number) => QueryProgram<T>): Promise<T>; close(): Promise<void> }

async function sqliteBase(): Promise<Base> {
  const harness = await sqliteHarness()
  const path = harness.url.replace('sqlite:', '')
  new DatabaseSync(path).close()
  const connection = new Connection(path)
  migrate(connection)
  return {
    run: async (at, steps) => connection.transact(() => connection.run(steps(at))),
    async close() {
      connection.close()
      await harness.close()
    },
  }
}

async function postgresBase(): Promise<Base> {
  const url = await postgres.createDatabase()
  const pool = createPool(url, 1)
  await prepareDatabase(pool, url, { clock: systemClock, isOwn: true, onWait: () => undefined })
  return {
    run: (at, steps) =>
      useClient(pool, async client => {
        await client.query(
          `CREATE OR REPLACE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql AS $$ SELECT ${at}::bigint $$`,
        )
        // The database's own clock decides.
        return transact(client, systemClock, () => steps(0))
      }),
    close: () => pool.end(),
  }
}

for (const [name, open] of [
  ['a file of SQLite', sqliteBase],
  ['PostgreSQL', postgresBase],
] as const)
  await t.test(`leases on ${name}`, async t => {
    /** Three processes with a charge each: two renew their leases, and one has died. */
    async function start(t: Test) {
      const base = await open()
      t.teardown(() => base.close())
      await base.run(now, function* () {
        yield ask(
          `INSERT INTO key (id, name, user_name, hash, hint, status, held, created_at) VALUES ('k', '', 'local', 'h', '', 'active', 30, 0)`,
        )
      })
      const join = async (owner: string) => {
        const self = { owner, host: 'here:1', chain: owner, part: '', zone: 'UTC', thresholds: [80, 100] }
        const { epoch } = await base.run(now, at => begin(self, at, false))
        await base.run(now, function* () {
          yield ask(
            `INSERT INTO charge (id, key_id, user_name, group_name, operation, model, family, upstream, config_revision,
               currency, n, rule, state, hold, owner, epoch, created_at)
             VALUES (?, 'k', 'local', 'g', 'o', 'm', 'f', 'u', 'c', 'USD', 1, '{}', 'reserved', 10, ?, ?, 0)`,
            `req_${owner}`,
            owner,
            epoch,
          )
        })
        return { ...self, epoch }
      }
      const [ada, ben, gone] = [await join('ada'), await join('ben'), await join('gone')]
      const beats = async (at: number, ...selves: (typeof ada)[]) => {
        for (const self of selves) t.equal((await base.run(at, at => beat(self, at))).epoch, self.epoch, self.owner)
      }
      const isOpen = async (owner: string) => {
        const [row] = await base.run(now, function* (): QueryProgram<Rows> {
          return yield ask(`SELECT count(*) AS n FROM charge WHERE id = ? AND state = 'reserved'`, `req_${owner}`)
        })
        return row !== undefined && whole(row, 'n') === 1
      }
      return { base, ada, ben, gone, beats, isOpen }
    }

    for (const jump of [400 * day, -400 * day])
      await t.test(
        `[6.7] a jump by ${jump / day} days ends no charges of living processes, and those of dead ones`,
        async t => {
          const { ada, ben, beats, isOpen } = await start(t)
          await beats(now + 5_000, ada, ben)
          for (const at of [now + jump, now + jump + 5_000, now + 20_000]) await beats(at, ada, ben)
          t.equal(await isOpen('gone'), true)
          for (let at = 25_000; at <= 65_000; at += 5_000) await beats(now + at, ada, ben)
          t.equal(await isOpen('gone'), false, 'half a minute of right time later')
          t.equal(await isOpen('ada'), true)
          t.equal(await isOpen('ben'), true)
        },
      )

    await t.test('[6.7] after a pause of all processes the first one to resume ends no other', async t => {
      const { ada, ben, beats, isOpen } = await start(t)
      await beats(now + 600_000, ada)
      await beats(now + 604_000, ben)
      t.equal(await isOpen('ben'), true)
      for (let at = 605_000; at <= 640_000; at += 5_000) await beats(now + at, ada, ben)
      t.equal(await isOpen('gone'), false)
    })

    await t.test('a process that is silent while others keep watch loses its charges and begins again', async t => {
      const { base, ada, ben, beats, isOpen } = await start(t)
      for (let at = 5_000; at <= 60_000; at += 5_000) await beats(now + at, ada)
      t.equal(await isOpen('ben'), false)
      t.not((await base.run(now + 61_000, at => beat(ben, at))).epoch, ben.epoch)
    })
  })

await t.test('[6.6] a gateway on a file keeps its lease while it has the file, by any clock', async t => {
  const harness = await sqliteHarness()
  const clock = clockAt(now)
  const storage = await harness.open('gateway', clock)
  t.teardown(async () => {
    await storage.close()
    await harness.close()
  })
  await storage.ledger.hold(holdOf(await storage.keys.create(newKey()), 10))
  for (const later of [0, 91_000, 3 * day, 400 * day, -400 * day]) {
    clock.set(now + later)
    const tool = await harness.open('tool', clock)
    t.match(await tool.books.verify(), { problems: [], left: 0 }, `${later} ms later`)
    await tool.close()
  }
  await harness.tamper(`UPDATE charge SET epoch = 0`)
  t.match((await storage.books.verify()).problems, [/is still reserved by a gateway that is gone/])
})

await t.test('[6.6] a copy with requests in flight is valid: it can be verified and restored at any time', async t => {
  const folder = t.testdir()
  for (const role of ['gateway', 'worker'] as const) {
    const [live, copy, back] = ['live', 'copy', 'back'].map(name => join(folder, `${role}-${name}.db`)) as [
      string,
      string,
      string,
    ]
    const storage = await openDatabase({ url: `sqlite:${live}`, role })
    await storage.ledger.hold(holdOf(await storage.keys.create(newKey()), 10))
    await backupStorage({ url: `sqlite:${live}`, to: copy })
    await storage.close()
    const db = new DatabaseSync(copy)
    // Makes the copy look a day old.
    db.exec('UPDATE replica SET lease_until = 1 WHERE lease_until < 9007199254740991')
    db.close()
    const tool = await openDatabase({ url: `sqlite:${copy}`, role: 'tool' })
    t.match(await tool.books.verify(), { problems: [], left: role === 'worker' ? 1 : 0 }, caseName({ role }))
    await tool.close()
    t.match(
      (await restoreStorage({ url: `sqlite:${back}`, from: copy })).audit,
      { problems: [], charges: 1 },
      caseName({ role }),
    )
    const again = await openDatabase({ url: `sqlite:${back}` })
    t.match(await again.books.all(null, 5), [{ state: 'needs_review', reason: 'gateway_stopped' }], caseName({ role }))
    t.match(await again.keys.list({ limit: 1_000 }), [{ held: 0 }], caseName({ role }))
    await again.close()
  }
})

await t.test('anchors on a file of SQLite', t => anchorsContract(t, sqliteHarness))
await t.test('anchors on PostgreSQL', t => anchorsContract(t, postgresHarness(postgres)))
