import t, { type Test } from 'tap'
import type { HoldRequest, Key, Level, ChargeItem } from '../../src/domain/index.ts'
import { clockAt, facts, holdOf, line, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { HandClock } from '../harness/request-context.ts'
import { startPostgres } from '../harness/postgres.ts'

// Two transactions that wait for each other block for a second, until PostgreSQL ends one of them; so do all that wait
// for either. So every transaction locks keys in the order of their ids, and then accounts in theirs.

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

/** A gateway, and another session, which PostgreSQL informs immediately of a deadlock. */
async function open(t: Test) {
  const url = await postgres.createDatabase()
  const clock = new HandClock()
  // Ids use this time: a charge of a long request gets a row of its own.
  clock.jump(Date.now() - clock.now())
  const storage = await openDatabase({ url, clock })
  const [other, look] = [await postgres.connect(url), await postgres.connect(url)]
  t.teardown(async () => {
    await Promise.all([other.end(), look.end()])
    await storage.close()
  })
  await other.query(`SET deadlock_timeout = '10ms'`)
  const keyOf = async (user: string): Promise<Key> => {
    await storage.users.create({ name: user, group: 'team', role: 'user', passwordHash: null })
    return storage.keys.create(newKey({ user }))
  }
  return {
    url,
    clock,
    storage,
    other,
    keyOf,
    /** Waits until the gateway, or `most` sessions, wait for locks of the other session. */
    waits: async (most = 1): Promise<void> => {
      for (;;) {
        const { rows } = await look.query(
          `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
        if (rows.length >= most) return
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    },
  }
}

const text = (price: number): ChargeItem => line(0, { price, quantity: price, width: null, height: null })
const levelsOf = (user: string): readonly Level[] => [
  { kind: 'user', name: user, amount: 1_000, per: 'total' },
  { kind: 'group', name: 'team', amount: 1_000, per: 'total' },
]

t.test('charges of several moments are booked on accounts in one order', async t => {
  const { clock, storage, other, keyOf, waits } = await open(t)
  const { ledger } = storage
  const requests: HoldRequest[] = []
  for (const user of ['anna', 'ben']) {
    const request = { ...holdOf(await keyOf(user), 100, { user, group: 'team' }), levels: levelsOf(user) }
    t.match(await ledger.hold(request), { kind: 'held' }, user)
    requests.push(request)
  }
  // As another gateway that holds money of ben: it locks the user first, and then the group.
  await other.query('BEGIN')
  await other.query(`UPDATE account SET held = held + 5 WHERE kind = 'user' AND name = 'ben'`)
  for (const request of requests) {
    ledger.post(request.facts, [text(10)], 'confirmed')
    clock.move(1)
  }
  const written = storage.flush()
  await waits()
  await other.query(`UPDATE account SET held = held + 5 WHERE kind = 'group' AND name = 'team'`)
  await other.query('ROLLBACK')
  await written
  t.match(await storage.books.verify(), { charges: 2, problems: [] })
})

t.test('keys of charges with and without a hold are locked in one order', async t => {
  const { storage, other, keyOf, waits } = await open(t)
  const { ledger } = storage
  const [first, second] = [await keyOf('anna'), await keyOf('ben')]
  t.ok(first.id < second.id)
  const request = { ...holdOf(first, 100, { user: 'anna', group: 'team' }), levels: levelsOf('anna') }
  t.match(await ledger.hold(request), { kind: 'held' })
  await other.query('BEGIN')
  await other.query('UPDATE key SET held = held + 5 WHERE id = $1', [first.id])
  ledger.post(request.facts, [text(10)], 'confirmed')
  ledger.post(facts(second, { user: 'ben', group: 'free' }), [text(7)], 'confirmed')
  const written = storage.flush()
  await waits()
  await other.query('UPDATE key SET held = held + 5 WHERE id = $1', [second.id])
  await other.query('ROLLBACK')
  await written
  t.match(await storage.books.verify(), { charges: 2, problems: [] })
})

const day = 24 * 3_600_000
const yesterday = Math.floor(Date.now() / day) * day - day / 2

t.test('a late settlement of yesterday hides nothing of today from waiting transactions', async t => {
  const { url, other, waits } = await open(t)
  const clock = clockAt(yesterday)
  const [late, now] = await Promise.all([clock, clockAt(yesterday + day)].map(clock => openDatabase({ url, clock })))
  if (!late || !now) return
  t.teardown(() => Promise.all([late.close(), now.close()]))
  await late.users.create({ name: 'anna', group: 'team', role: 'user', passwordHash: null })
  const [one, two] = [
    await late.keys.create(newKey({ user: 'anna' })),
    await late.keys.create(newKey({ user: 'anna' })),
  ]
  const levels: readonly Level[] = [{ kind: 'user', name: 'anna', amount: 200, per: 'day' }]
  const open50 = async (storage: typeof now, key: Key, hold: Pick<HoldRequest, 'levels'>): Promise<string> => {
    const request = { ...holdOf(key, 50, { user: 'anna', group: 'team' }), ...hold }
    t.same(await storage.ledger.hold(request), { kind: 'held' })
    await storage.ledger.line(request.facts.id, line(0, { price: 50 }))
    return request.facts.id
  }
  const end = (storage: typeof now, id: string): Promise<boolean> =>
    storage.ledger.settle({ id, delivery: 'confirmed', reason: null })

  for (const { name, key, held, lock } of [
    {
      name: 'a budget',
      key: two,
      held: { levels },
      lock: `SELECT 1 FROM account WHERE kind = 'user' AND name = 'anna' AND part = '' FOR UPDATE`,
    },
    { name: 'a key', key: one, held: {}, lock: `SELECT 1 FROM key WHERE id = '${one.id}' FOR UPDATE` },
  ]) {
    clock.set(yesterday)
    const owed = await open50(late, one, held)
    await end(now, await open50(now, key, held))
    const waiting = await open50(now, key, held)
    // The settling connection breaks while it waits: the settlement stays open, and is paid a day later.
    await other.query('BEGIN')
    await other.query(lock)
    const broken = t.rejects(end(late, owed), { code: 'storage_unavailable' }, name)
    await waits()
    clock.set(yesterday + day)
    await other.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`)
    await broken
    await waits()
    const ended = end(now, waiting)
    await waits(2)
    await other.query('ROLLBACK')
    t.ok(await ended, name)
    for (;;) if ((await now.ledger.find(owed))?.state === 'settled') break
    t.same((await now.books.verify()).problems, [], name)
  }
  t.match(await now.books.levels([{ kind: 'user', name: 'anna' }]), [{ spent: { total: 300, day: 200 } }])
  t.match(await now.keys.find(one.id), { spentIn: { day: { spent: 100 } } })
})

t.test('the charges of a dead gateway are ended in one order, whatever their end', async t => {
  const { url, clock, storage, other, keyOf, waits } = await open(t)
  const { ledger } = storage
  for (const user of ['anna', 'ben']) {
    const request = { ...holdOf(await keyOf(user), 100, { user, group: 'team' }), levels: levelsOf(user) }
    t.match(await ledger.hold(request), { kind: 'held' }, user)
    // For anna a picture was delivered; for ben the result is unknown.
    if (user === 'anna') await ledger.line(request.facts.id, line(0, { price: 10 }))
  }
  await storage.close()
  await other.query('BEGIN')
  await other.query(`UPDATE account SET held = held + 5 WHERE kind = 'user' AND name = 'anna'`)
  const next = openDatabase({ url, clock })
  await waits()
  await other.query(`UPDATE account SET held = held + 5 WHERE kind = 'group' AND name = 'team'`)
  await other.query('ROLLBACK')
  const heir = await next
  t.match(await heir.books.verify(), { charges: 2, problems: [] })
  await heir.close()
})

t.test('two concurrent imports count earlier spending once', async t => {
  const { url, clock, storage, other, waits } = await open(t)
  const second = await openDatabase({ url, clock })
  t.teardown(() => second.close())
  const taken = { users: [], groups: [{ name: 'team', per: 'month', spentBefore: 1_200 }] } as const
  // Blocks accounts, so that both have begun before either finishes.
  await other.query('BEGIN')
  await other.query('LOCK TABLE account IN EXCLUSIVE MODE')
  const both = [storage, second].map(async one => one.keys.adopt(taken, 'import litellm'))
  await waits(2)
  await other.query('ROLLBACK')
  t.same(
    (await Promise.all(both)).map(({ opened }) => opened).toSorted((a, b) => a - b),
    [0, 1],
  )
  t.match(await storage.books.levels(), [{ kind: 'group', name: 'team', spent: { month: 1_200 } }])
  t.same((await storage.books.verify()).problems, [])
})
