import { performance } from 'node:perf_hooks'
import t from 'tap'
import { listLogs } from '../../src/storage/journal/list.ts'
import { pruneLogs } from '../../src/storage/journal/prune.ts'
import { beat } from '../../src/storage/ledger/recover.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { draftLogBatch } from '../../src/storage/log-batches/draft.ts'
import { UncompactedBatches } from '../../src/storage/log-batches/uncompacted.ts'
import { takeInRows } from '../../src/storage/log-batches/move.ts'
import { writeLogs } from '../../src/storage/log-batches/write.ts'
import { createPool, Session } from '../../src/storage/postgres/connect.ts'
import { translateSchema } from '../../src/storage/postgres/translate.ts'
import type { QueryProgram, Rows } from '../../src/storage/query.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { used } from '../contract/charge-batches.ts'
import { clockAt, facts, holdOf, logRow, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'
import { count, insertOld, makeFile, minute, noon, open, rowAt, watch, write } from '../harness/log-batches.ts'
import { startPostgres } from '../harness/postgres.ts'

const bodiesOf = (given: readonly Rows[]): number => given.flat().filter(row => row['body'] !== undefined).length

t.test('[9.4] deleting a few old rows does not read every outdated page', async t => {
  const connection = open(t)
  write(
    connection,
    Array.from({ length: 3_000 }, (_, i) => rowAt(noon + i * minute, i)),
    50,
    new UncompactedBatches(60),
  )
  t.ok(count(connection, 'SELECT count(*) AS n FROM log_page') > 45)
  const { value, given } = watch(connection, pruneLogs({ until: noon + 3_000 * minute, limit: 60 }))
  t.equal(value, 60)
  t.ok(bodiesOf(given) < 20, caseName({ bodies: bodiesOf(given) }))
})

t.test('[9.4] a damaged page does not prevent a start', async t => {
  const path = makeFile(t)
  const start = () => openDatabase({ url: `sqlite:${path}` })
  const first = await start()
  const key = await first.keys.create(newKey())
  const own = facts(key)
  first.ledger.post(own, used, 'confirmed')
  first.journal.append(logRow({ id: own.id, time: Date.now() }))
  await first.close()
  const connection = new Connection(path)
  connection.db.exec(`UPDATE log_page SET body = 'no page'`)
  connection.close()
  await t.resolves(start().then(storage => storage.close()))
})

t.test('[9.4] a damaged loose page stays, and the others are bound', async t => {
  const connection = open(t)
  const loose = new UncompactedBatches(30)
  write(connection, [rowAt(noon, 1)], 1, loose)
  connection.db.exec(`UPDATE log_page SET body = 'no page'`)
  const rows = Array.from({ length: 40 }, (_, i) => rowAt(noon + minute + i, i))
  write(connection, rows, 10, loose)
  t.equal(count(connection, `SELECT count(*) AS n FROM log_page WHERE body = 'no page' AND sums IS NULL`), 1)
  t.ok(count(connection, 'SELECT count(*) AS n FROM log_page WHERE sums IS NOT NULL') > 0)
  t.same(connection.run(listLogs({ limit: 100, since: noon + minute })).toReversed(), rows)
  t.equal(connection.run(pruneLogs({ until: noon + minute, limit: 100 })), 1, 'it goes when its time has come')
  t.equal(connection.run(pruneLogs({ until: noon + 2 * minute, limit: 100 })), 40)
  t.equal(count(connection, 'SELECT count(*) AS n FROM log_page'), 0)
})

t.test('[9.4] the cost per unique row does not grow with their number', async t => {
  const timeOf = (rows: number): number => {
    const list = Array.from({ length: rows }, (_, i) => rowAt(noon + i, 1, { dropped: [`own ${i}`] }))
    const beganAt = performance.now()
    draftLogBatch(list)
    return performance.now() - beganAt
  }
  timeOf(500)
  const few = Math.min(...[1, 2, 3, 4].map(() => timeOf(1_000)))
  const many = Math.min(...[1, 2, 3, 4].map(() => timeOf(8_000)))
  t.ok(many / few < 40, caseName({ few, many }))
})

t.test('[9.4] an incomplete id sorts correctly, and no page is read in vain for it', async t => {
  const connection = open(t)
  const rows = Array.from({ length: 300 }, (_, i) => rowAt(noon + i * minute, i))
  write(connection, rows, 10, new UncompactedBatches())
  const middle = rows[150]?.id ?? ''
  const odd = [
    'a_0',
    'req_',
    'req_0',
    'req_zz',
    'z_9',
    'req_01!',
    middle.slice(0, 9),
    middle.slice(0, 13),
    `${middle}0`,
  ]
  for (const id of odd) {
    const before = rows.filter(row => row.id < id)
    const after = rows.filter(row => row.id > id)
    const limit = 400
    t.same(connection.run(listLogs({ before: id, limit })), before.toReversed(), caseName({ before: id }))
    t.same(connection.run(listLogs({ after: id, limit })), after.toReversed(), caseName({ after: id }))
    const { value, given } = watch(connection, listLogs({ id, limit }))
    t.same(value, [], caseName({ id }))
    t.ok(bodiesOf(given) < 3, caseName({ id, bodies: bodiesOf(given) }))
  }
  t.equal(bodiesOf(watch(connection, listLogs({ before: 'a_0', limit: 1 })).given), 0)
})

t.test('[9.4] a few rows selected by their images are found in as few pages', async t => {
  const connection = open(t)
  const rows = Array.from({ length: 1_000 }, (_, i) => rowAt(noon + i * minute, i))
  write(connection, rows, 10, new UncompactedBatches())
  connection.db.exec('PRAGMA foreign_keys = OFF; DROP TRIGGER line_open')
  for (const { id } of rows)
    connection.db.exec(
      `INSERT INTO line (charge_id, idx, tier, source, price, flags) VALUES ('${id}', 0, '4K', 'output', 1, '[]')`,
    )
  const { value, given } = watch(connection, listLogs({ tier: '4K', limit: 20 }))
  t.same(value, rows.slice(-20).toReversed())
  t.ok(bodiesOf(given) < 8, caseName({ bodies: bodiesOf(given) }))
  t.same(connection.run(listLogs({ tier: '4K', limit: 700 })), rows.slice(-700).toReversed())
})

t.test('[9.4] several processes at once on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const url = await postgres.createDatabase()
  const pool = createPool(url, 4)
  t.teardown(() => pool.end())
  const first = await pool.connect()
  await first.query(
    'CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$',
  )
  for (const statement of migrations.flat()) await first.query(translateSchema(statement))
  const other = await pool.connect()
  t.teardown(() => {
    first.release()
    other.release()
  })
  const sumOf = async (): Promise<number> =>
    Number((await first.query('SELECT sum(count) AS n FROM log_page')).rows[0].n)
  t.beforeEach(() => first.query('DELETE FROM log_page; DELETE FROM log_word; DELETE FROM log'))

  t.test('rows that an older gateway writes during the move stay', async t => {
    const rows = Array.from({ length: 5 }, (_, i) => rowAt(noon + i, i, { clientRequestId: null }))
    for (const row of rows.slice(1)) await first.query(insertOld(row))
    await first.query('BEGIN')
    const session = new Session(first)
    const steps = takeInRows()
    let next = steps.next()
    for (let statement = 1; next.done !== true; statement++) {
      const given = await session.run(once(next.value))
      if (statement === 1) await other.query(insertOld(rows[0] ?? rowAt(noon, 1)))
      next = steps.next(given)
    }
    await first.query('COMMIT')
    const left = await first.query('SELECT id FROM log')
    t.equal((await sumOf()) + left.rows.length, 5)
  })

  t.test("two processes that move an older gateway's rows take each once", async t => {
    for (let i = 0; i < 5; i++) await first.query(insertOld(rowAt(noon + i, i, { clientRequestId: null })))
    await Promise.all([first.query('BEGIN'), other.query('BEGIN')])
    await new Session(first).run(takeInRows())
    const second = new Session(other).run(takeInRows())
    // The second session has finished, or waits for the first.
    await Promise.race([second, postgresWaits()])
    await first.query('COMMIT')
    await second
    await other.query('COMMIT')
    t.equal(await sumOf(), 5)
    t.equal((await first.query('SELECT 1 FROM log')).rows.length, 0)
  })

  t.test('a batch in doubt is searched for in pages that are being bound', async t => {
    const rows = Array.from({ length: 40 }, (_, i) => rowAt(noon + i, i, { clientRequestId: null }))
    const loose = new UncompactedBatches(1_000)
    const page = (from: number, to: number) => ({ batch: draftLogBatch(rows.slice(from, to)), again: false })
    await new Session(first).run(writeLogs(loose, page(0, 20)))
    await first.query('BEGIN')
    const steps = writeLogs(loose, { batch: draftLogBatch(rows.slice(0, 20)), again: true })
    const session = new Session(first)
    let next = steps.next()
    let binding: Promise<unknown> | undefined
    while (next.done !== true) {
      const { sql } = next.value
      const given = await session.run(once(next.value))
      if (!binding && sql.includes('first_ms, last_ms, count FROM log_page')) {
        binding = new Session(other).run(writeLogs(new UncompactedBatches(10), page(20, 40)))
        await binding
      }
      next = steps.next(given)
    }
    await first.query('COMMIT')
    t.equal(await sumOf(), 40)
  })

  t.test("two processes that recover a third one's lost rows write them once", async t => {
    const own = await postgres.createDatabase()
    const gone = await openDatabase({ url: own })
    await gone.ledger.hold(holdOf(await gone.keys.create(newKey()), 40_000))
    await gone.close()
    const ownPool = createPool(own, 2)
    t.teardown(() => ownPool.end())
    const clients = [await ownPool.connect(), await ownPool.connect()] as const
    await clients[0].query(
      `INSERT INTO replica (owner, epoch, host, started_at, lease_until)
       SELECT owner, 1, 'here', 0, now_ms() + 20000 FROM unnest(ARRAY['a', 'b']) AS owner`,
    )
    const beatAs = (client: (typeof clients)[number], owner: string) =>
      new Session(client).run(
        beat({ owner, epoch: 1, host: 'here', chain: owner, part: '', zone: 'UTC', thresholds: [80, 100] }, Date.now()),
      )
    for (const client of clients) await client.query('BEGIN')
    await beatAs(clients[0], 'a')
    const second = beatAs(clients[1], 'b')
    await Promise.race([second, postgresWaits()])
    await clients[0].query('COMMIT')
    await second
    await clients[1].query('COMMIT')
    const { rows } = await clients[0].query('SELECT sum(count) AS n FROM log_page')
    t.equal(Number(rows[0]?.n), 1)
    for (const client of clients) client.release()
  })

  for (const isBackFirst of [false, true])
    t.test(
      `${isBackFirst ? 'once it has begun again, ' : ''}a process that was silent for too long writes no row twice`,
      async t => {
        const own = await postgres.createDatabase()
        const client = await postgres.connect(own)
        const repeated: (() => void)[] = []
        const never = { cancel() {} }
        const still = {
          ...clockAt(Date.now()),
          after: () => never,
          every: (_ms: number, call: () => void) => {
            repeated.push(call)
            return never
          },
        }
        const silent = await openDatabase({ url: own, clock: still })
        const request = holdOf(await silent.keys.create(newKey()), 40_000)
        await silent.ledger.hold(request)
        silent.journal.append(logRow({ id: request.facts.id }))
        const before = await client.query('UPDATE replica SET lease_until = 0 RETURNING epoch')
        const other = await openDatabase({ url: own })
        if (isBackFirst) {
          for (const call of repeated) call()
          for (let epochs = 0; epochs < 2; ) {
            const later = await client.query('SELECT 1 FROM replica WHERE epoch > $1', [before.rows[0]?.epoch])
            epochs = later.rows.length
          }
        }
        await silent.flush()
        const { rows } = await client.query('SELECT sum(count) AS n FROM log_page')
        t.equal(Number(rows[0]?.n), 1)
        await client.end()
        await silent.close()
        await other.close()
      },
    )

  async function postgresWaits(): Promise<void> {
    for (;;) {
      const { rows } = await pool.query(`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
      if (rows.length > 0) return
    }
  }
})

function* once(query: Parameters<Connection['all']>[0]): QueryProgram<Rows> {
  return yield query
}
