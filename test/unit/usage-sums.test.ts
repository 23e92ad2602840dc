import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import t from 'tap'
import type { Key } from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { sumUp } from '../../src/storage/journal/sum-up.ts'
import { summarize } from '../../src/storage/journal/summary.ts'
import { sumUsage } from '../../src/storage/journal/usage.ts'
import { createPool, Session } from '../../src/storage/postgres/connect.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { used } from '../contract/charge-batches.ts'
import { clockAt, facts, logRow, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'
import { startPostgres } from '../harness/postgres.ts'

const day = 86_400_000
const from = Date.UTC(2026, 10, 1, 20)
const requests = 700

const folder = mkdtempSync(join(tmpdir(), 'tollgate-sums-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const path = join(folder, 'tollgate.db')
const clock = clockAt(from)
const storage = await openDatabase({ url: `sqlite:${path}`, clock, logPageRows: 64 })
t.teardown(() => storage.close())
await storage.users.create({ name: 'ada', group: 'partner', role: 'user', passwordHash: null })
const keys = [await storage.keys.create(newKey()), await storage.keys.create(newKey({ user: 'ada', group: 'partner' }))]
let made = 0
const idNow = (): string => firstIdAt('req_', clock.now()) + String(made++).padStart(10, '0')

/** Requests over several days, most of them concurrent; some are charged on the day after they began. */
async function work(count: number, stepMs: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    clock.set(clock.now() + stepMs)
    const key = keys[i % 2] as Key
    const id = idNow()
    ids.push(id)
    if (i % 50 === 0) clock.set((Math.floor(clock.now() / day) + 1) * day - 1_000)
    const own = facts(key, {
      id: i % 50 === 0 ? idNow() : id,
      user: key.user,
      model: i % 3 ? 'm1' : 'm2',
      currency: i % 7 ? 'USD' : 'EUR',
    })
    if (i % 50 === 0) {
      ids[ids.length - 1] = own.id
      clock.set(clock.now() + 2_000)
    }
    storage.ledger.post(own, used, 'confirmed')
    storage.journal.append(
      logRow({
        id: own.id,
        time: clock.now(),
        keyId: key.id,
        user: key.user,
        model: own.model,
        inputTokens: i,
        outputTokens: 1,
      }),
    )
    if (i % 9 === 0) await storage.flush()
  }
  await storage.flush()
  return ids
}

const ids = await work(requests, 11 * 60_000)
await storage.books.refund(ids[5] ?? '', 'ada', 'x')
await storage.books.refund(ids[600] ?? '', 'ada', 'x')
const connection = new Connection(path)
t.teardown(() => connection.close())
const spans = fc.tuple(fc.nat(10 * day), fc.nat(10 * day)).map(([a, b]) => ({
  since: from - day + Math.min(a, b),
  until: from - day + Math.max(a, b),
}))
const who = fc.constantFrom({}, { user: 'ada' }, { user: 'nobody' }, { keyId: keys[0]?.id ?? '' })

/** Queries the usage of several spans, for all callers and for some. */
function tell(queries: readonly (readonly [{ since: number; until: number }, object])[]) {
  return queries.map(([span, of]) => [
    connection.run(sumUsage({ ...span, ...of })),
    connection.run(summarize({ ...span, ...of })).spent,
  ])
}

t.test('[9.4] usage is the same before charges are summed, half-way, and after', async t => {
  const queries = fc.sample(fc.tuple(spans, who), { numRuns: 40, seed: 9 })
  const before = tell(queries)
  t.ok(
    before.some(([uses]) => (uses?.length ?? 0) > 20),
    'there is use to tell of',
  )
  const now = clock.now() + day
  const sum = (at: number) => connection.transact(() => connection.run(sumUp(at)))
  const added: number[] = []
  for (let count = 1; count > 0; added.push(count)) count = sum(from + 2 * day)
  const half = added.reduce((all, one) => all + one, 0)
  t.same(tell(queries), before, 'half-way')
  for (;;) {
    const count = sum(now)
    added.push(count)
    if (count === 0) break
  }
  t.equal(
    added.reduce((all, one) => all + one, 0),
    requests,
    'each once',
  )
  t.ok(half > 50 && half < requests, caseName({ half }))
  t.same(tell(queries), before, 'after')
  connection.db.exec('DELETE FROM log_page; DELETE FROM log_word')
  const full = { since: from - 2 * day, until: from + 40 * day }
  t.same(
    connection.run(sumUsage(full)).reduce((all, use) => all + use.inputTokens, 0),
    (requests * (requests - 1)) / 2,
    'tokens stay when the log goes',
  )
})

t.test('[9.4] later charges are summed in the next pass, and recent ones stay', async t => {
  const more = await work(30, 1_000)
  const sum = (at: number) => connection.transact(() => connection.run(sumUp(at)))
  t.equal(sum(clock.now()), 0, 'the log may not have them yet')
  const full = { since: from - 2 * day, until: from + 40 * day }
  const before = connection.run(sumUsage(full))
  let added = 0
  for (let count = 1; count > 0; added += count) count = sum(clock.now() + day)
  t.equal(added, more.length)
  t.same(connection.run(sumUsage(full)), before)
  t.equal(
    before.reduce((all, use) => all + use.requests, 0),
    requests + more.length,
  )
})

t.test('[9.4] the same on PostgreSQL, and two processes at once sum nothing twice', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const url = await postgres.createDatabase()
  const other = await openDatabase({ url, clock })
  t.teardown(() => other.close())
  const key = await other.keys.create(newKey())
  for (let i = 0; i < 300; i++) {
    clock.set(clock.now() + 60_000)
    const id = idNow()
    other.ledger.post(facts(key, { id, model: 'm1' }), used, 'confirmed')
    other.journal.append(logRow({ id, time: clock.now(), keyId: key.id, model: 'm1', inputTokens: i }))
    if (i % 4 === 0) await other.flush()
  }
  await other.flush()
  const span = { since: clock.now() - 20 * day, until: clock.now() + day }
  const before = await other.journal.usage(span)
  const spent = (await other.journal.summary(span)).spent
  const pool = createPool(url, 3)
  t.teardown(() => pool.end())
  const sum = async (): Promise<number> => {
    const client = await pool.connect()
    await client.query('BEGIN')
    const count = await new Session(client).run(sumUp(clock.now() + day))
    await client.query('COMMIT')
    client.release()
    return count
  }
  let added = 0
  for (let counts = [1]; counts.some(count => count > 0); added += counts.reduce((all, one) => all + one, 0))
    counts = await Promise.all([sum(), sum(), sum()])
  t.equal(added, 300)
  t.same(await other.journal.usage(span), before)
  t.same((await other.journal.summary(span)).spent, spent)
})
