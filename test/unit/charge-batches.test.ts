import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import type { Key, Storage } from '../../src/domain/index.ts'
import { firstIdAt, Ids, systemClock } from '../../src/util/index.ts'
import { ChargeQueue, type Posted } from '../../src/storage/ledger/charge-queue.ts'
import { postCharges } from '../../src/storage/ledger/post-charges.ts'
import { LabelPlaces } from '../../src/storage/label-places.ts'
import { UncompactedBatches } from '../../src/storage/log-batches/uncompacted.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { commitGroup } from '../../src/storage/postgres/commit.ts'
import { findBooked } from '../../src/storage/charge-batches/find.ts'
import { RecentIds } from '../../src/storage/charge-batches/recent-ids.ts'
import { type StartThread, startThread } from '../../src/storage/sqlite/thread.ts'
import { used } from '../contract/charge-batches.ts'
import { facts, holdOf, line, logRow, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { copyAsOf } from '../harness/old-database.ts'
import { startPostgres } from '../harness/postgres.ts'

function makeFile(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-segments-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'tollgate.db')
}

async function open(t: Test, url: string, options: { startThread?: StartThread } = {}): Promise<Storage> {
  const storage = await openDatabase({ url, ...options })
  t.teardown(() => storage.close())
  return storage
}

/** A group of charges as the writer receives it. */
function groupOf(key: Key, count: number): Posted {
  const queue = new ChargeQueue()
  for (let i = 0; i < count; i++)
    queue.append({ facts: facts(key), lines: used, delivery: 'confirmed', at: Date.now() })
  const posted = queue.take()
  if (!posted) throw new Error('nothing waits')
  return posted
}

const scribe = (chain: string) => ({
  part: '',
  zone: 'UTC',
  thresholds: [80, 100],
  owner: 'test',
  host: 'here',
  epoch: 0,
  chain,
  ids: new Ids(),
  uncompacted: new UncompactedBatches(),
  labelPlaces: new LabelPlaces(),
})

t.test('[9.4] a group whose commit is in doubt is sent again unchanged, and written once', async t => {
  const path = makeFile(t)
  const threads: ReturnType<StartThread>[] = []
  let deaf = false
  /** Ends the writer thread after its commit, before it can report it. */
  const losing: StartThread = (name, start) => {
    const thread = startThread(name, start)
    if (name !== 'writer-thread') return thread
    threads.push(thread)
    const on = thread.on.bind(thread) as (event: string, take: (given: never) => void) => typeof thread
    const hear = (event: string, take: (given: never) => void) =>
      event === 'message'
        ? on(event, (message: never) => {
            if (!deaf || (message as { kind: string }).kind !== 'group') return take(message)
            deaf = false
            void thread.terminate()
          })
        : on(event, take)
    return Object.assign(thread, { on: hear })
  }
  const storage = await open(t, `sqlite:${path}`, { startThread: losing })
  const secret = newKey()
  const key = await storage.keys.create(secret)
  const held = holdOf(key, 500)
  await storage.ledger.hold(held)
  const posted = [facts(key), facts(key), held.facts]
  deaf = true
  for (const one of posted) storage.ledger.post(one, used, 'confirmed')
  while (threads.length < 2) await new Promise(resolve => setTimeout(resolve, 10))
  // A charge posted in the meantime goes into a group of its own.
  storage.ledger.post(facts(key), used, 'confirmed')
  while (!storage.ledger.healthy()) await new Promise(resolve => setTimeout(resolve, 10))
  await storage.flush()
  t.match(await storage.keys.findByHash(secret.hash), { spent: 400, held: 0 })
  t.match(await storage.books.verify(), { charges: 4, lines: 8, problems: [] })
  const db = new DatabaseSync(path, { readOnly: true })
  t.same(
    db
      .prepare('SELECT count FROM segment ORDER BY position')
      .all()
      .map(row => row['count']),
    [2, 1],
  )
  db.close()
})

t.test('[9.4] charges wait while nothing can be written, and are then written once', async t => {
  const path = makeFile(t)
  const storage = await openDatabase({
    url: `sqlite:${path}`,
    busyMs: 100,
  })
  t.teardown(() => storage.close())
  const secret = newKey()
  const key = await storage.keys.create(secret)
  const foreign = new DatabaseSync(path)
  foreign.exec('BEGIN IMMEDIATE')
  const posted = Array.from({ length: 600 }, () => facts(key))
  for (const one of posted) storage.ledger.post(one, used, 'confirmed')
  await t.rejects(storage.flush(), { code: 'storage_unavailable' })
  t.equal(storage.ledger.healthy(), false)
  t.equal(storage.waiting().charges, 600)
  for (const { id } of posted) t.match(await storage.ledger.find(id), { amount: 100 }, id)
  foreign.exec('ROLLBACK')
  foreign.close()
  while (!storage.ledger.healthy()) await new Promise(resolve => setTimeout(resolve, 10))
  await storage.flush()
  t.match(await storage.keys.findByHash(secret.hash), { spent: 60_000 })
  t.match(await storage.books.verify(), { charges: 600, problems: [] })
})

t.test('[9.4] a group written twice at once, on two connections, exists once', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const url = await postgres.createDatabase()
  const storage = await open(t, url)
  const secret = newKey()
  const key = await storage.keys.create(secret)
  const pool = new Pool({ connectionString: url })
  t.teardown(() => pool.end())
  for (let round = 0; round < 5; round++) {
    const op = { change: 'post', given: { ...groupOf(key, 5), at: Date.now() } } as const
    const clients = await Promise.all([pool.connect(), pool.connect()])
    const results = await Promise.all(
      clients.map((client, i) => commitGroup(client, scribe(`chain.${i}`), [op], systemClock)),
    )
    for (const client of clients) client.release()
    t.same(
      results.map(({ faults, broken }) => [faults.filter(Boolean), broken]),
      [
        [[], undefined],
        [[], undefined],
      ],
      `round ${round}`,
    )
  }
  t.match(await storage.keys.findByHash(secret.hash), { spent: 2_500 })
  t.match(await storage.books.verify(), { charges: 25, problems: [] })
})

t.test('[9.4] a database from before segments keeps its content next to the new one', async t => {
  const path = makeFile(t)
  const source = makeFile(t)
  const first = await openDatabase({ url: `sqlite:${source}` })
  const secret = newKey({ hash: 'abc', budget: 10_000_000 })
  const key = await first.keys.create(secret)
  const ids: string[] = []
  for (let i = 0; i < 30; i++) {
    const request = holdOf(key, 40_000)
    ids.push(request.facts.id)
    await first.ledger.hold(request)
    if (i % 3 === 0) first.ledger.post(request.facts, used, 'confirmed')
    else if (i % 3 === 1) await first.ledger.line(request.facts.id, line(0))
    if (i % 3 === 1) await first.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    if (i % 3 === 2) await first.ledger.void(request.facts.id, 'refused')
    first.journal.append(logRow({ id: request.facts.id, keyId: key.id }))
  }
  await first.flush()
  await first.books.refund(ids[0] ?? '', 'ada', 'x')
  const before = await first.books.all(null, 100)
  const anchor = await first.books.anchor()
  await first.close()

  copyAsOf(5, source, path)

  const storage = await open(t, `sqlite:${path}`)
  t.same(await storage.books.all(null, 100), before)
  t.same((await storage.books.verify([anchor])).problems, [])
  const posted = facts(key)
  storage.ledger.post(posted, used, 'confirmed')
  await storage.flush()
  t.equal(await storage.books.refund(ids[1] ?? '', 'ada', 'x'), 40_000)
  t.equal(await storage.books.refund(posted.id, 'ada', 'x'), 100)
  t.match(await storage.books.verify([anchor]), { charges: 31, problems: [] })
  t.match((await storage.books.all(null, 100)).at(-1), { id: posted.id, refunded: 100 })
  const copy = new DatabaseSync(`${path}.before-schema-${migrations.length}`, { readOnly: true })
  t.same(copy.prepare('SELECT count(*) AS n FROM charge').get(), { n: 30 }, 'earlier content is kept next to it')
  t.throws(() => copy.prepare('SELECT 1 FROM segment'))
  copy.close()
  const [audit] = (await storage.books.anchor()).chains
  t.equal(audit?.position, (anchor.chains[0]?.position ?? 0) + 3, 'one chain continues')
})

t.test('[9.4] a segment can be verified by hand: its hash covers a line and its body', async t => {
  const path = makeFile(t)
  const storage = await open(t, `sqlite:${path}`)
  const key = await storage.keys.create(newKey())
  // One object for all requests, as a plugin passes it.
  const { rule } = facts(key)
  for (let i = 0; i < 3; i++) storage.ledger.post(facts(key, { rule }), used, 'confirmed')
  await storage.flush()
  const db = new DatabaseSync(path, { readOnly: true })
  const row = db.prepare('SELECT * FROM segment').get() as { [column: string]: string }
  db.close()
  const { chain, position, prev_hash: before, body = '' } = row
  t.equal(row['hash'], hash('sha256', `segment ${chain} ${position} ${before}\n${body}`))
  const items = body.split('\n')
  t.equal(items.length, 6, 'one item to a line')
  t.match(JSON.parse(body), [
    { at: Number },
    { key_id: key.id, user_name: 'local', group_name: 'default' },
    {
      model: 'alpha-image-2',
      currency: 'USD',
      delivery: 'confirmed',
      lines: [
        ['input', 'output', []],
        ['output', 'output', ['estimated']],
      ],
    },
    [row['first_id'], 1, 2, 0, 30, 12, 70, 34],
    [/^req_/, 1, 2, Number, 30, 12, 70, 34],
    [row['last_id'], 1, 2, Number, 30, 12, 70, 34],
  ])
})

t.test('[9.4] a look-up reads as few segments of many as of few', t => {
  const db = new DatabaseSync(':memory:')
  for (const statement of migrations.flat()) db.exec(statement)
  db.exec(
    `INSERT INTO key (id, name, user_name, hash, hint, status, created_at) VALUES ('key_a', 'a', 'local', 'h', 's', 'active', 1)`,
  )
  const run = (steps: ReturnType<typeof postCharges> | ReturnType<typeof findBooked>): number => {
    let rows = 0
    for (let next = steps.next(); next.done !== true; ) {
      const found = db.prepare(next.value.sql).all(...next.value.params)
      if (next.value.sql.includes('FROM segment')) rows += found.length
      next = steps.next(found as never)
    }
    return rows
  }
  const from = Date.UTC(2026, 9, 1)
  const ids: string[] = []
  const key = { id: 'key_a' } as Key
  /** Requests of half a minute, five groups a second. */
  const grow = (groups: number): void => {
    for (let i = 0; i < groups; i++) {
      const queue = new ChargeQueue()
      const at = from + ids.length * 40
      for (let n = 0; n < 5; n++) {
        ids.push(firstIdAt('req_', at - ((n * 7_000) % 30_000)) + String(ids.length).padStart(10, '0'))
        queue.append({ facts: facts(key, { id: ids.at(-1) ?? '' }), lines: used, delivery: 'confirmed', at })
      }
      run(postCharges(scribe('gateway'), { ...(queue.take() as Posted), at }))
    }
  }
  const look = (): number => Math.max(...ids.filter((_, i) => i % 97 === 0).map(id => run(findBooked([id]))))
  grow(20)
  t.equal(look(), 1)
  grow(1_500)
  t.equal(look(), 1, 'only the database reads those that overlap')
  const [missing] = [firstIdAt('req_', from + 60_000) + 'zzzzzzzzzz']
  t.equal(run(findBooked([missing])), 0)
  const overlapping = db.prepare('SELECT count(*) AS n FROM segment WHERE last_id >= ? AND first_id <= ?')
  const most = (list: readonly string[]): number => Math.max(...list.map(id => Number(overlapping.get(id, id)?.['n'])))
  t.ok(most(ids.slice(-200)) <= most(ids.slice(2_000, 2_200)), 'and as many overlap at the end as before')
  db.close()
  t.end()
})

t.test('[9.4] added ids are known for the whole window, however many there are', t => {
  const ids = new Ids()
  const recent = new RecentIds(60_000)
  const from = Date.UTC(2026, 9, 1)
  const noted: { id: string; at: number }[] = []
  let unsure = 0
  for (let i = 0; i < 40_000; i++) {
    const at = from + i * 5
    const id = ids.next('req_', at)
    if (recent.note(id, at)) unsure++
    noted.push({ id, at })
    const earlier = noted[Math.max(0, i - ((i * 7_919) % 12_000))]
    if (earlier && !recent.note(earlier.id, at)) t.fail(`forgotten after ${at - earlier.at} ms`)
  }
  t.ok(unsure < 40, `${unsure} of 40,000 were taken for another`)
  t.ok(recent.note(noted.at(-1)?.id ?? '', from - 1_000_000), 'after a clock jump back nothing is forgotten')
  t.end()
})

t.test('[9.4] a repeated id is known from then on, and so is a false match', t => {
  const recent = new RecentIds(60_000)
  const from = Date.UTC(2026, 9, 1)
  recent.note('req_a', from)
  recent.note('req_b', from + 60_001)
  t.ok(recent.note('req_a', from + 100_000), 'shown again, of those that grow old')
  t.ok(recent.note('req_a', from + 120_003), 'twenty seconds later it is known')
  t.end()
})

t.test(
  '[9.4] a group that was in doubt and is then refused continues as rows, each of which is searched for',
  async t => {
    const storage = await open(t, `sqlite:${makeFile(t)}`)
    const someKey = await storage.keys.create(newKey())
    const queue = new ChargeQueue()
    const all = [1, 2, 3].map(() => ({
      facts: facts(someKey),
      lines: used,
      delivery: 'confirmed' as const,
      at: Date.now(),
    }))
    for (const one of all) queue.append(one)
    t.equal(queue.take()?.batch?.count, 3)
    queue.giveBack()
    t.equal(queue.take()?.batch?.count, 3, 'it goes as it went')
    t.equal(queue.refused(), undefined)
    for (const {
      facts: { id },
    } of all) {
      const posted = queue.take()
      t.equal(posted?.batch, null, id)
      t.match(posted?.rows, id, id)
      queue.done()
    }
    t.equal(queue.size, 0)
  },
)

t.test('[6.7] a charge waits for its key, its user and its group until it is written or cannot be', async t => {
  const storage = await open(t, `sqlite:${makeFile(t)}`)
  const [key, other] = [await storage.keys.create(newKey()), await storage.keys.create(newKey())]
  const queue = new ChargeQueue()
  const charge = (user: string) => ({
    facts: { ...facts(key), user, group: 'makers' },
    lines: used,
    delivery: 'confirmed' as const,
    at: Date.now(),
  })
  const levels = [{ kind: 'group' as const, name: 'makers', amount: 1, per: 'month' as const }]
  const waits = () => ({
    key: queue.hasOf({ facts: { ...facts(key), user: 'eve' } }),
    ada: queue.hasOf({ facts: { ...facts(other), user: 'ada' } }),
    bob: queue.hasOf({ facts: { ...facts(other), user: 'bob' } }),
    group: queue.hasOf({ facts: { ...facts(other), user: 'eve', group: 'makers' }, levels }),
    noGroup: queue.hasOf({ facts: { ...facts(other), user: 'eve', group: 'makers' } }),
  })
  const none = { key: false, ada: false, bob: false, group: false, noGroup: false }
  const all = { key: true, ada: true, bob: true, group: true, noGroup: false }
  t.strictSame(waits(), none)
  for (const user of ['ada', 'ada', 'bob']) queue.append(charge(user))
  t.strictSame(waits(), all, 'they wait')
  queue.take()
  t.strictSame(waits(), all, 'they are in flight')
  queue.giveBack()
  t.strictSame(waits(), all, 'their commit is in doubt')
  queue.take()
  queue.refused()
  t.strictSame(waits(), all, 'they are sent one by one')
  queue.take()
  queue.done()
  t.strictSame(waits(), all, 'one is written')
  queue.take()
  t.equal(queue.refused()?.facts.user, 'ada')
  t.strictSame(waits(), { ...all, ada: false }, 'one cannot be written')
  queue.take()
  queue.done()
  t.strictSame(waits(), none, 'all are written')
  t.equal(queue.through, queue.appended)
})

t.test('[9.4] charges too large for exact sums have rows of their own', async t => {
  const storage = await open(t, `sqlite:${makeFile(t)}`)
  const key = await storage.keys.create(newKey())
  const queue = new ChargeQueue()
  const priced = (price: number) => [line(0, { tier: 'input', width: null, height: null, price, quantity: 1 })]
  for (const price of [1e13, 1e13 + 1])
    queue.append({ facts: facts(key), lines: priced(price), delivery: 'confirmed', at: Date.now() })
  const posted = queue.take()
  t.equal(posted?.batch?.count, 1)
  t.match(posted?.rows, /10000000000001/)
})
