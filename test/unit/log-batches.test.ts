import * as fc from 'fast-check'
import t from 'tap'
import { kindOfRow, type LogMatch, type LogRow, unknownOfLogRow } from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { listLogs } from '../../src/storage/journal/list.ts'
import { LogQueue } from '../../src/storage/journal/log-queue.ts'
import { pruneLogs } from '../../src/storage/journal/prune.ts'
import { countSteps } from '../../src/storage/journal/steps.ts'
import { summarize } from '../../src/storage/journal/summary.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { draftLogBatch } from '../../src/storage/log-batches/draft.ts'
import { findRows } from '../../src/storage/log-batches/find.ts'
import { UncompactedBatches } from '../../src/storage/log-batches/uncompacted.ts'
import { takeInRows } from '../../src/storage/log-batches/move.ts'
import { LogBatch } from '../../src/storage/log-batches/parse.ts'
import { writeLogs } from '../../src/storage/log-batches/write.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { openDatabase } from '../harness/database.ts'
import { startPostgres } from '../harness/postgres.ts'
import { caseName } from '../harness/case-name.ts'
import { count, insertOld, makeFile, minute, noon, open, rowAt, write } from '../harness/log-batches.ts'
import { seed } from '../harness/seed.ts'

t.test('[9.4] a page returns its rows in the order of their ids, each id once', async t => {
  const word = fc.string({ unit: 'binary' })
  const rowOf = fc.record({
    ms: fc.integer({ min: noon, max: noon + 5_000 }),
    late: fc.integer({ min: -3, max: 3 }),
    keyId: fc.option(fc.constantFrom('key_a', 'key_b')),
    user: fc.option(word),
    model: fc.option(word),
    status: fc.option(fc.integer({ min: 100, max: 599 })),
    upstream: fc.option(word),
    forwarded: fc.array(word, { maxLength: 3 }),
    clientRequestId: fc.option(word),
    inputTokens: fc.option(fc.nat()),
    durationMs: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(rowOf, { minLength: 1, maxLength: 30 }), list => {
      const rows = list.map(({ ms, late, ...changes }, i) => rowAt(ms, i, { ...changes, time: ms + late }))
      const inOrder = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const drafted = draftLogBatch([...rows, ...rows.slice(0, 2)])
      t.same(new LogBatch(drafted.body).rows(), inOrder)
      t.equal(drafted.count, rows.length)
      t.same(
        [drafted.firstMs, drafted.lastMs],
        [Math.min(...list.map(one => one.ms)), Math.max(...list.map(one => one.ms))],
      )
    }),
    { numRuns: 60, seed },
  )
})

t.test('[9.4] every query of bound and loose pages equals a full scan', async t => {
  const connection = open(t)
  const rows = Array.from({ length: 900 }, (_, i) => rowAt(noon + i * 40_000, i))
  // Requests end in another order than they begin, some of them hours later.
  const arrived = rows
    .map((row, i) => ({ row, at: i + ((i * 7_919) % 13) + (i % 50 === 3 ? 400 : 0) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ row }) => row)
  write(connection, arrived, 11, new UncompactedBatches(100))
  t.ok(count(connection, 'SELECT count(*) AS n FROM log_page WHERE sums IS NOT NULL') > 8, 'most is bound')
  t.ok(count(connection, 'SELECT count(*) AS n FROM log_page WHERE sums IS NULL') > 0, 'some is not')
  const match = fc.record(
    {
      keyId: fc.constantFrom('key_1', 'key_none'),
      user: fc.constantFrom('ada', 'nobody'),
      model: fc.constantFrom('m1', 'm2'),
      upstream: fc.constant('one'),
      status: fc.constantFrom(200, 429, '2xx', '4xx', '5xx', '3xx'),
      outcome: fc.constantFrom('answered', 'refused', 'caller_gone'),
      since: fc.integer({ min: noon - minute, max: noon + 600 * minute }),
      until: fc.integer({ min: noon, max: noon + 700 * minute }),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<LogMatch>
  const isMeant = (row: LogRow, { status, since = 0, until = Infinity, ...same }: LogMatch): boolean =>
    Object.entries(same).every(([name, value]) => row[name as 'user'] === value) &&
    (status === undefined || String(row.status).startsWith(String(status).replace('xx', ''))) &&
    row.time >= since &&
    row.time < until
  fc.assert(
    fc.property(match, fc.nat(899), fc.integer({ min: 1, max: 40 }), fc.boolean(), (filter, from, limit, isOnward) => {
      const edge = rows[from]?.id ?? ''
      const wanted = rows.filter(row => isMeant(row, filter) && (isOnward ? row.id > edge : row.id < edge))
      const found = connection.run(listLogs({ ...filter, limit, ...(isOnward ? { after: edge } : { before: edge }) }))
      const page = isOnward ? wanted.slice(0, limit) : wanted.slice(-limit)
      t.same(found, page.toReversed(), caseName({ filter, from, limit, isOnward }))
    }),
    { numRuns: 150, seed },
  )
  fc.assert(
    fc.property(match, fc.constantFrom(minute, 60 * minute, 999_999), (filter, stepMs) => {
      const span = { since: noon, until: noon + 700 * minute, ...filter }
      const steps = new Map<number, number>()
      for (const row of rows.filter(one => isMeant(one, span))) {
        const start = Math.floor(row.time / stepMs) * stepMs
        steps.set(start, (steps.get(start) ?? 0) + 1)
      }
      const found = connection.run(countSteps(span, stepMs))
      t.same(
        found.map(({ from, requests }) => [from, requests]),
        [...steps],
        caseName({ filter, stepMs }),
      )
    }),
    { numRuns: 60, seed },
  )
  for (const [since, until] of [
    [noon, noon + 700 * minute],
    [noon + 33 * minute, noon + 420 * minute],
  ] as const) {
    const own = rows.filter(row => row.time >= since && row.time < until && kindOfRow(row) !== 'lookup')
    t.match(
      connection.run(summarize({ since, until })),
      {
        requests: own.length,
        errors: own.filter(({ status, outcome }) => (status ?? 0) >= 400 || outcome !== 'answered').length,
        inputTokens: own.reduce((sum, row) => sum + (row.inputTokens ?? 0), 0),
      },
      caseName({ since, until }),
    )
  }
  const some = rows.filter((_, i) => i % 31 === 0)
  const found = connection.run(findRows([...some.map(({ id }) => id), 'req_unknown', firstIdAt('req_', noon)]))
  t.same(
    [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    some,
    'each by its id',
  )
})

t.test('[9.4] pruned rows are removed from their pages and words', async t => {
  const connection = open(t)
  const rows = Array.from({ length: 400 }, (_, i) =>
    rowAt(noon + i * minute, i, { keyId: `key_${Math.floor(i / 100)}` }),
  )
  write(
    connection,
    rows.toSorted((a, b) => ((a.durationMs * 31) % 17) - ((b.durationMs * 31) % 17)),
    10,
    new UncompactedBatches(64),
  )
  const until = noon + 250 * minute
  t.equal(connection.run(pruneLogs({ until, limit: 3 })), 3)
  t.equal(connection.run(listLogs({ limit: 1_000 })).at(-1)?.id, rows[3]?.id, 'the oldest went first')
  t.equal(connection.run(pruneLogs({ until, limit: 4_096 })), 247)
  t.equal(connection.run(pruneLogs({ until, limit: 4_096 })), 0)
  t.same(connection.run(listLogs({ limit: 1_000 })).toReversed(), rows.slice(250))
  t.equal(count(connection, `SELECT count(*) AS n FROM log_word WHERE word IN ('key key_0', 'key key_1')`), 0)
  t.equal(
    count(connection, 'SELECT count(*) AS n FROM log_word WHERE page NOT IN (SELECT number FROM log_page)'),
    0,
    'no word of a page that is gone',
  )
  const requestCount = rows.slice(250).filter(row => kindOfRow(row) !== 'lookup').length
  t.equal(connection.run(summarize({ since: 0, until: noon + 999 * minute })).requests, requestCount)
})

t.test('[9.4] rows whose commit was in doubt exist once', async t => {
  const connection = open(t)
  const queue = new LogQueue()
  const loose = new UncompactedBatches(25)
  const rows = Array.from({ length: 60 }, (_, i) => rowAt(noon + i, i))
  for (const row of rows.slice(0, 20)) queue.append(row)
  const commit = (): void => {
    const { logs } = queue.take() ?? {}
    if (logs) connection.transact(() => connection.run(writeLogs(loose, logs)))
  }
  commit()
  queue.giveBack()
  for (const row of rows.slice(20, 40)) queue.append(row)
  commit()
  queue.done({ lost: false })
  t.equal(count(connection, 'SELECT sum(count) AS n FROM log_page'), 40)
  commit()
  for (const row of rows.slice(40)) queue.append(row)
  commit()
  t.same(connection.run(listLogs({ limit: 100 })).toReversed(), rows)
  t.equal(queue.through, 40)
})

t.test('[9.4] few rows in many loose pages are bound too', async t => {
  const connection = open(t)
  write(
    connection,
    Array.from({ length: 300 }, (_, i) => rowAt(noon + i * minute, i)),
    1,
    new UncompactedBatches(),
  )
  t.equal(count(connection, 'SELECT count(*) AS n FROM log_page WHERE sums IS NULL'), 300 - 256)
  t.ok(
    count(connection, 'SELECT max(last_ms - first_ms) AS n FROM log_page WHERE sums IS NOT NULL') <= 3_600_000,
    'a bound page goes no further than an hour',
  )
})

t.test('[9.4] a damaged page is named', async t => {
  const connection = open(t)
  write(connection, [rowAt(noon, 1), rowAt(noon, 2)], 2, new UncompactedBatches())
  connection.db.exec(`UPDATE log_page SET body = '{"id":"req_","ids":["x"],"times":[]}'`)
  t.throws(() => connection.run(listLogs({ limit: 1 })), { message: /^log batch 1 cannot be read: its lists/ })
  connection.db.exec(`UPDATE log_page SET body = 'no page'`)
  t.throws(() => connection.run(listLogs({ limit: 1 })), { message: /^log batch 1 cannot be read: / })
})

t.test('[9.4] an older database gets log pages, and rows of an older gateway are still taken in', async t => {
  const path = makeFile(t)
  const rows = Array.from({ length: 5_000 }, (_, i) =>
    rowAt(noon + i * 100, i, { clientRequestId: i % 6 ? null : `c${i}`, ...unknownOfLogRow }),
  )
  const old = new Connection(path)
  for (const statement of migrations.slice(0, 6).flat()) old.db.exec(statement)
  old.db.exec('BEGIN')
  for (const row of rows) old.db.exec(insertOld(row))
  old.db.exec('COMMIT; PRAGMA user_version = 6')
  old.close()
  const storage = await openDatabase({ url: `sqlite:${path}` })
  t.teardown(() => storage.close())
  const newest = await storage.journal.list({ limit: 1_000 })
  t.same(
    newest.map(({ row }) => row),
    rows.slice(-1_000).toReversed(),
  )
  t.match(await storage.journal.summary({ since: 0, until: noon + 999_999_999 }), {
    requests: rows.filter(row => kindOfRow(row) !== 'lookup').length,
  })

  const connection = new Connection(path)
  t.teardown(() => connection.close())
  t.equal(count(connection, 'SELECT count(*) AS n FROM log'), 0)
  t.equal(count(connection, 'SELECT count(*) AS n FROM log_page'), 2)
  t.throws(() => connection.db.prepare('SELECT 1 FROM log_before'))
  const late = rowAt(noon + 1_000_000, 3)
  connection.db.exec(insertOld(late))
  connection.db.exec(insertOld(rows[7] as LogRow))
  connection.transact(() => connection.run(takeInRows()))
  t.match(await storage.journal.list({ limit: 1 }), [{ row: { id: late.id } }])
  t.equal(count(connection, 'SELECT sum(count) AS n FROM log_page'), 5_001, 'one that is there is not taken twice')
})

t.test('[9.4] the same on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const url = await postgres.createDatabase()
  const storage = await openDatabase({ url, logPageRows: 50 })
  t.teardown(() => storage.close())
  const rows = Array.from({ length: 500 }, (_, i) => rowAt(noon + i * 100, i, { clientRequestId: null }))
  const client = await postgres.connect(url)
  t.teardown(() => client.end())
  for (const row of rows.slice(0, 20)) await client.query(insertOld(row))
  for (const row of rows.slice(20)) {
    storage.journal.append(row)
    if (row.time % 3_000 === 0) await storage.flush()
  }
  await storage.flush()
  const { rows: found } = await client.query('SELECT count(*) AS n FROM log_page WHERE sums IS NOT NULL')
  t.ok(Number(found[0]?.n) > 3, 'some is bound')
  t.same(
    (await storage.journal.list({ limit: 1_000 })).map(({ row }) => row),
    rows.slice(20).toReversed(),
  )
})
