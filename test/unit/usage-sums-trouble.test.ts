import t, { type Test } from 'tap'
import { firstIdAt } from '../../src/util/index.ts'
import { sumUp } from '../../src/storage/journal/sum-up.ts'
import { summarize } from '../../src/storage/journal/summary.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { used } from '../contract/charge-batches.ts'
import { clockAt, facts, logRow, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { makeFile, minute, noon, watch } from '../harness/log-batches.ts'

const day = 86_400_000

async function open(t: Test) {
  const path = makeFile(t)
  const clock = clockAt(noon)
  const storage = await openDatabase({ url: `sqlite:${path}`, clock, logPageRows: 16 })
  const key = await storage.keys.create(newKey())
  const connection = new Connection(path)
  t.teardown(async () => {
    connection.close()
    await storage.close()
  })
  let made = 0
  return {
    clock,
    connection,
    /** Posts charges into a segment of their own, one second apart. */
    post: async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        clock.set(clock.now() + 1_000)
        const id = firstIdAt('req_', clock.now()) + String(made++).padStart(10, '0')
        storage.ledger.post(facts(key, { id }), used, 'confirmed')
        storage.journal.append(logRow({ id, time: clock.now(), keyId: key.id, inputTokens: 1 }))
        await storage.flush()
      }
    },
  }
}

function spentIn(connection: Connection): number {
  const { spent } = connection.run(summarize({ since: 0, until: noon + 30_000 * day }))
  return spent[0]?.amount ?? 0
}

function sumAll(connection: Connection, at: number): number {
  let all = 0
  for (;;) {
    const count = connection.transact(() => connection.run(sumUp(at)))
    if (count === 0) return all
    all += count
  }
}

t.test('[9.4] a charge that arrives while its chain is summed counts once', async t => {
  const { connection, clock, post } = await open(t)
  await post(3)
  const at = clock.now() + day
  const steps = sumUp(at)
  let next = steps.next()
  let isThere = false
  while (next.done !== true) {
    const rows = connection.all(next.value)
    if (next.value.sql.includes('FROM chain') && !isThere) {
      isThere = true
      await post(1)
    }
    next = steps.next(rows)
  }
  sumAll(connection, at)
  t.equal(connection.all({ sql: 'SELECT sum(amount) AS n FROM spent_sum', params: [] })[0]?.['n'], 400)
  t.equal(spentIn(connection), 400)
})

t.test('[9.4] a damaged chain does not prevent summing the others', async t => {
  const { connection, clock, post } = await open(t)
  await post(12)
  connection.db.exec(
    `DROP TRIGGER segment_same; UPDATE segment SET chain = 'c' || (position % 4);
     INSERT INTO chain SELECT chain, max(position), '' FROM segment GROUP BY chain;
     UPDATE segment SET body = 'no segment' WHERE position > 4 AND chain IN ('c0', 'c3')`,
  )
  t.equal(sumAll(connection, clock.now() + day), 2 * 3 + 2)
})

t.test('[9.4] a damaged page of the log does not prevent summing', async t => {
  const { connection, clock, post } = await open(t)
  await post(20)
  connection.db.exec(`UPDATE log_page SET body = 'no page' WHERE number = (SELECT min(number) FROM log_page)`)
  t.equal(sumAll(connection, clock.now() + day), 20)
})

t.test('[9.4] charges of a clock years ahead do not prevent summing those after them', async t => {
  const { connection, clock, post } = await open(t)
  await post(2)
  clock.set(noon + 4_000 * day)
  await post(1)
  clock.set(noon + minute)
  await post(2)
  t.equal(sumAll(connection, clock.now() + 10 * minute), 5)
  t.equal(spentIn(connection), 500)
})

t.test('[9.4] a process that finds nothing to sum writes nothing', async t => {
  const { connection, clock, post } = await open(t)
  await post(2)
  sumAll(connection, clock.now() + day)
  const changes = () => connection.all({ sql: 'SELECT total_changes() AS n', params: [] })[0]?.['n']
  const before = changes()
  t.equal(sumAll(connection, clock.now() + 2 * day), 0)
  t.equal(changes(), before)
})

t.test('[9.4] few charges among many requests are summed without reading all of those', async t => {
  const { connection, clock, post } = await open(t)
  await post(1)
  connection.db.exec('BEGIN')
  for (let page = 0; page < 300; page++) {
    const ms = noon + 2_000 + page * 1_000
    const ids = Array.from({ length: 10 }, (_, i) => firstIdAt('', ms + i) + String(i).padStart(10, '0'))
    const body = JSON.stringify({
      id: 'req_',
      ids,
      time: ms,
      times: ids.map((_, i) => i),
      duration_ms: ids.map(() => 1),
      who: ids.map(() => 0),
      what: ids.map(() => 0),
      whos: [{ key_id: null, user_name: null, group_name: null }],
      whats: [{ operation: 'chat', status: 200, outcome: 'answered', forwarded: '[]', dropped: '[]' }],
    })
    connection.all({
      sql: 'INSERT INTO log_page (first_ms, last_ms, count, sums, body) VALUES (?, ?, 10, ?, ?)',
      params: [ms, ms + 9, '{}', body],
    })
  }
  connection.db.exec('COMMIT')
  clock.set(noon + 400_000)
  await post(1)
  const { given } = watch(connection, sumUp(clock.now() + day))
  const pages = given.flat().filter(row => row['body'] !== undefined && row['chain'] === undefined)
  t.ok(pages.length < 10, `${pages.length} pages`)
})
