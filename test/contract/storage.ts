import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { ChargeFacts, HoldRequest, Key, ChargeItem, LogRow, NewKey, Storage } from '../../src/domain/index.ts'
import type { Log } from '../../src/plugin-api/index.ts'
import type { Clock } from '../../src/util/index.ts'
import { unknownOfLogRow } from '../../src/domain/index.ts'
import { Ids, systemTimers } from '../../src/util/index.ts'

export type Role = 'gateway' | 'worker' | 'tool'

/** The interface between a driver and the suite: one fresh database that can be opened several times. */
export type StorageHarness = {
  readonly url: string
  /** Opens this harness's database. `logPageRows`: the number of rows of a bound page of the log. */
  open(
    role: Role,
    clock?: Clock,
    logPageRows?: number,
    timeZone?: string,
    thresholds?: readonly number[],
  ): Promise<Storage>
  /** Runs `test/contract/storage-child.ts` on the same database in a process of its own. */
  child(role: Role, job: string): Promise<Child>
  /** Ends the lease of every other process, as if none had renewed it for half a minute. */
  lapse(): Promise<void>
  /** Changes rows directly, but within the guards (triggers and foreign keys). */
  edit(sql: string): Promise<void>
  /** Reads rows directly. */
  read(sql: string): Promise<readonly { readonly [column: string]: unknown }[]>
  /** Changes rows directly and bypasses every guard. */
  tamper(sql: string): Promise<void>
  close(): Promise<void>
}

export type Child = {
  /** Resolves with the next line that the child prints. */
  line(): Promise<string>
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>
  /** Freezes the child, resumes it, or makes it continue its job. */
  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGUSR2'): void
}

export type Harness = () => Promise<StorageHarness>

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

const ids = new Ids()
const day = 24 * 3_600_000

export function newKey(changes: Partial<NewKey> = {}): NewKey {
  return {
    name: 'a key',
    user: 'local',
    group: null,
    hash: randomUUID(),
    hint: 'sk-…',
    ...changes,
  }
}

export function facts(key: Key, changes: Partial<ChargeFacts> = {}): ChargeFacts {
  return {
    id: ids.next('req_', Date.now()),
    keyId: key.id,
    user: 'local',
    group: 'default',
    operation: 'image.generate',
    model: 'alpha-image-2',
    family: 'alpha',
    upstream: 'alpha',
    configRevision: '0123456789ab',
    currency: 'USD',
    size: '1024x1024',
    quality: null,
    n: 1,
    rule: {
      kind: 'tiers',
      tiers: [{ tier: '2K', longEdgeMax: 2048, price: 40_000, at: 'gateway.yaml:10' }],
      tierFrom: ['output'],
      otherwise: '2K',
      requestedTier: '1K',
      warnings: [],
    },
    ...changes,
  }
}

export function holdOf(key: Key, hold: number, changes: Partial<ChargeFacts> = {}): HoldRequest {
  return { facts: facts(key, changes), hold, idempotency: null }
}

export function line(index: number, changes: Partial<ChargeItem> = {}): ChargeItem {
  return {
    index,
    tier: '2K',
    source: 'output',
    width: 1254,
    height: 1254,
    price: 40_000,
    flags: [],
    quantity: null,
    ...changes,
  }
}

export function logRow(changes: Partial<LogRow> = {}): LogRow {
  return {
    id: ids.next('req_', Date.now()),
    time: Date.now(),
    keyId: null,
    user: 'local',
    group: 'default',
    model: 'alpha-image-2',
    operation: 'image.generate',
    status: 200,
    outcome: 'answered',
    errorCode: null,
    durationMs: 812,
    upstream: 'alpha',
    configRevision: '0123456789ab',
    forwarded: ['model', 'prompt'],
    dropped: ['seed'],
    clientRequestId: null,
    inputTokens: null,
    outputTokens: null,
    ...unknownOfLogRow,
    ...changes,
  }
}

/** A clock that stays at the time it is set to. */
export function clockAt(now: number): Clock & { set(now: number): void } {
  let time = now
  return {
    now: () => time,
    tick: () => performance.now(),
    ...systemTimers,
    set(now) {
      time = now
    },
  }
}

/** A driver and a storage on it, opened as a gateway does; both close when the test ends. */
export async function openHarness(t: Test, make: Harness, clock?: Clock) {
  const harness = await make()
  const storage = await harness.open('gateway', clock)
  t.teardown(async () => {
    await storage.close()
    await harness.close()
  })
  return { harness, storage }
}

/** Tests for every storage driver, through the port alone. */
export async function storageContract(t: Test, make: Harness): Promise<void> {
  async function start(t: Test, clock?: Clock) {
    const { harness, storage } = await openHarness(t, make, clock)
    return { harness, storage, ...storage }
  }

  /** A key that only this test uses, on a storage that several tests share. */
  async function addKey({ keys }: Storage, budget: number | null = 1_000_000) {
    const made = newKey({ budget })
    const key = await keys.create(made)
    return { key, readKey: async () => keys.findByHash(made.hash) }
  }

  await t.test('keys and users', async t => {
    const shared = await start(t)
    await t.test('a key is found by the hash of its secret, with its user’s group', async t => {
      const { keys, users } = shared
      await users.create({ name: 'ada', group: 'partner', role: 'admin', passwordHash: null })
      const made = await keys.create(
        newKey({
          user: 'ada',
          hash: 'abc',
          models: ['m'],
          ips: ['127.0.0.1'],
          limits: { rpm: 3 },
          expiresAt: 5,
          budget: 7,
        }),
      )
      t.same(await keys.findByHash('abc'), made)
      t.match(made, { user: 'ada', userGroup: 'partner', models: ['m'], ips: ['127.0.0.1'], limits: { rpm: 3 } })
      t.match(made, { expiresAt: 5, budget: 7, spent: 0, held: 0, status: 'active', group: null })
      t.equal(await keys.findByHash('abd'), undefined)
    })

    await t.test('a new storage has the user local of the group default, and no key', async t => {
      const own = await start(t)
      const { keys, users } = own
      t.match(await users.list(), [{ name: 'local', group: 'default', status: 'active' }])
      t.equal(await keys.count(), 0)
    })

    await t.test('a key for a user that does not exist is refused, as is a second user of one name', async t => {
      const { keys, users } = shared
      await t.rejects(Promise.resolve(keys.create(newKey({ user: 'nobody' }))), { code: 'user_unknown' })
      const user = { name: 'local', group: 'g', role: 'user', passwordHash: null } as const
      await t.rejects(Promise.resolve(users.create(user)), { code: 'user_exists' })
    })

    await t.test('revoking says whether there was such a key, and the revision moves', async t => {
      const { keys } = shared
      const { key } = await addKey(shared.storage)
      const before = await keys.revision()
      t.equal(await keys.revoke(key.id), true)
      t.equal(await keys.revoke('key_none'), false)
      t.ok((await keys.revision()) > before)
      t.match((await keys.list({ limit: 1_000 }))[0], { id: key.id, status: 'revoked' })
    })

    await t.test('a hold moves money but not the revision: caches keep their keys', async t => {
      const { keys, ledger } = shared
      const { key } = await addKey(shared.storage)
      const before = await keys.revision()
      await ledger.hold(holdOf(key, 40_000))
      t.equal(await keys.revision(), before)
    })

    await t.test('a key revoked by another process moves the revision here', async t => {
      const { harness, keys } = shared
      const { key } = await addKey(shared.storage)
      const before = await keys.revision()
      const child = await harness.child('tool', `revoke ${key.id}`)
      t.equal(await child.line(), 'true')
      t.ok((await keys.revision()) > before)
      t.match(
        (await keys.list({ limit: 1_000 })).find(one => one.id === key.id),
        { status: 'revoked' },
      )
      await child.kill()
    })

    await t.test('a password is set on users that exist', async t => {
      const { users } = shared
      t.equal(await users.setPassword('local', 'x'), true)
      t.equal(await users.setPassword('nobody', 'x'), false)
    })
  })

  await t.test('a charge goes from its hold to its end', async t => {
    const shared = await start(t)
    await t.test('two items settle to their sum and release the rest of the hold', async t => {
      const { ledger, books } = shared
      const { key, readKey } = await addKey(shared.storage)
      const request = holdOf(key, 400_000, { n: 4 })
      const { id } = request.facts
      t.same(await ledger.hold(request), { kind: 'held' })
      t.match(await readKey(), { spent: 0, held: 400_000 })
      t.equal(await ledger.line(id, line(0)), true)
      t.equal(
        await ledger.line(
          id,
          line(1, { price: 80_000, tier: '4K', width: null, height: null, flags: ['undecodable'] }),
        ),
        true,
      )
      t.equal(await ledger.settle({ id, delivery: 'unconfirmed', reason: null }), true)
      t.match(await readKey(), { spent: 120_000, held: 0 })
      const charge = await ledger.find(id)
      t.match(charge, {
        ...request.facts,
        state: 'settled',
        amount: 120_000,
        hold: 400_000,
        refunded: 0,
        delivery: 'unconfirmed',
      })
      t.same(
        charge?.lines.map(one => one.index),
        [0, 1],
      )
      t.same(charge?.lines[1]?.flags, ['undecodable'])
      t.same((await books.verify()).problems, [])
    })

    await t.test("[10.3] an item stores the answer's facts, and the charge its vendor cost", async t => {
      const { ledger, journal, books } = shared
      const { key } = await addKey(shared)
      const request = holdOf(key, 200_000, { model: 'telling' })
      const { id } = request.facts
      await ledger.hold(request)
      const size = { width: 1760, height: 2368 }
      const lines = [
        line(0, { source: 'told', width: null, height: null, told: { size, facts: { quality: 'high “4K”' } } }),
        line(1, { told: { facts: { quality: 'low' } } }),
        line(2, { source: 'told', tier: 'input_text', quantity: 9 }),
        line(3),
      ]
      for (const one of lines) t.equal(await ledger.line(id, one), true, String(one.index))
      t.equal(await ledger.line(id, lines[0] as ChargeItem), true, 'again is the same')
      t.equal(await ledger.line(id, line(0, { source: 'told', width: null, height: null, told: { size } })), false)
      t.equal(await ledger.line(id, line(3, { source: 'told' })), false, 'another source is another line')
      t.equal(await ledger.settle({ id, delivery: 'confirmed', reason: null, vendorCost: 73_457 }), true)
      t.match(await ledger.find(id), { amount: 160_000, vendorCost: 73_457 })
      t.strictSame((await ledger.find(id))?.lines, lines)
      const free = holdOf(key, 1, { model: 'telling' })
      await ledger.hold(free)
      t.equal(await ledger.void(free.facts.id, 'zero_images', 5), true)
      const untold = holdOf(key, 100_000, { model: 'telling' })
      await ledger.hold(untold)
      await ledger.line(untold.facts.id, line(0))
      await ledger.settle({ id: untold.facts.id, delivery: 'confirmed', reason: null })
      t.match(await ledger.find(untold.facts.id), { vendorCost: null })
      const span = { since: Date.now() - day, until: Date.now() + day }
      const costs = (await journal.vendorCosts(span)).filter(({ model }) => model === 'telling')
      const sum = (name: 'charges' | 'untold' | 'ours' | 'theirs') => costs.reduce((total, row) => total + row[name], 0)
      t.same([sum('charges'), sum('untold'), sum('ours'), sum('theirs')], [2, 1, 160_000, 73_462])
      t.notOk(
        (await journal.vendorCosts(span)).some(({ model }) => model === 'alpha-image-2'),
        'whose vendor never told',
      )
      for (const one of [id, free.facts.id, untold.facts.id]) journal.append(logRow({ id: one, model: 'telling' }))
      await shared.storage.flush()
      const found = async (source: 'told' | 'output') =>
        (await journal.list({ limit: 9, source, model: 'telling' })).map(({ row }) => row.id).toSorted()
      t.same(await found('told'), [id])
      t.same(await found('output'), [id, untold.facts.id].toSorted())
      t.same((await books.verify()).problems, [])
    })

    await t.test('delivery is noted after the charge has ended', async t => {
      const { ledger, storage } = shared
      const { key } = await addKey(shared.storage)
      const request = holdOf(key, 40_000)
      await ledger.hold(request)
      await ledger.line(request.facts.id, line(0))
      await ledger.settle({ id: request.facts.id, delivery: 'partial', reason: null })
      ledger.delivered(request.facts.id)
      await storage.flush()
      t.match(await ledger.find(request.facts.id), { delivery: 'confirmed', state: 'settled' })
    })

    await t.test(
      'an item is written once per picture: a repetition returns true, another one under its index false',
      async t => {
        const { ledger, books } = shared
        const { key } = await addKey(shared.storage)
        const request = holdOf(key, 400_000)
        const { id } = request.facts
        await ledger.hold(request)
        const made = await Promise.all([ledger.line(id, line(0)), ledger.line(id, line(0)), ledger.line(id, line(0))])
        t.same(made, [true, true, true])
        t.equal(await ledger.line(id, line(0, { price: 1 })), false)
        t.match(await ledger.find(id), { amount: 40_000, lines: [{ index: 0 }] })
        t.same((await books.verify()).problems, [])
      },
    )

    await t.test('with nothing bought the charge is void, costs nothing and releases its hold', async t => {
      const { ledger } = shared
      const { key, readKey } = await addKey(shared.storage)
      const request = holdOf(key, 40_000)
      await ledger.hold(request)
      t.equal(await ledger.void(request.facts.id, 'upstream refused'), true)
      t.match(await ledger.find(request.facts.id), { state: 'voided', reason: 'upstream refused', amount: 0 })
      t.match(await readKey(), { held: 0, spent: 0 })
    })

    await t.test('with an unknown outcome the charge waits for review and releases its hold', async t => {
      const { ledger } = shared
      const { key, readKey } = await addKey(shared.storage)
      const request = holdOf(key, 40_000)
      await ledger.hold(request)
      t.equal(await ledger.review(request.facts.id, 'timeout'), true)
      t.match(await ledger.find(request.facts.id), { state: 'needs_review', reason: 'timeout' })
      t.match(await readKey(), { held: 0, spent: 0 })
    })

    await t.test('open charges are added up by state and currency', async t => {
      const { ledger, books } = shared
      const { key } = await addKey(shared.storage)
      const currency = 'XTS'
      const [first, second, third] = [10, 20, 30].map(hold => holdOf(key, hold, { currency }))
      for (const request of [first, second, third]) if (request) await ledger.hold(request)
      const open = async () => (await books.open()).filter(one => one.currency === currency)
      t.same(await open(), [{ state: 'reserved', currency, count: 3, hold: 60 }])
      await ledger.review(first?.facts.id ?? '', 'timeout')
      await ledger.void(second?.facts.id ?? '', 'refused')
      const [held, reviewed] = (await open()).toSorted((a, b) => b.state.localeCompare(a.state))
      t.match(
        [held, reviewed],
        [
          { state: 'reserved', count: 1, hold: 30 },
          { state: 'needs_review', count: 1 },
        ],
      )
      await ledger.void(third?.facts.id ?? '', 'refused')
      t.equal((await open()).length, 1)
    })

    await t.test('an ended charge does not change: every further transition returns false', async t => {
      const { ledger, books } = shared
      const { key } = await addKey(shared.storage)
      for (const how of ['settle', 'void', 'review'] as const) {
        const request = holdOf(key, 40_000)
        const { id } = request.facts
        await ledger.hold(request)
        if (how === 'settle') {
          await ledger.line(id, line(0))
          await ledger.settle({ id, delivery: 'unconfirmed', reason: null })
        } else await ledger[how](id, 'x')
        const before = await ledger.find(id)
        t.equal(await ledger.line(id, line(5)), false)
        t.equal(await ledger.settle({ id, delivery: 'confirmed', reason: 'again' }), false)
        t.equal(await ledger.void(id, 'again'), false)
        t.equal(await ledger.review(id, 'again'), false)
        t.same(await ledger.find(id), before)
      }
      t.same((await books.verify()).problems, [])
    })

    await t.test('a charge with items cannot be voided, one without cannot be settled', async t => {
      const { ledger } = shared
      const { key } = await addKey(shared.storage)
      const [lined, empty] = [holdOf(key, 1), holdOf(key, 1)]
      await Promise.all([ledger.hold(lined), ledger.hold(empty)])
      await ledger.line(lined.facts.id, line(0))
      t.equal(await ledger.void(lined.facts.id, 'x'), false)
      t.equal(await ledger.review(lined.facts.id, 'x'), false)
      t.equal(await ledger.settle({ id: empty.facts.id, delivery: 'unconfirmed', reason: null }), false)
    })

    await t.test('an id is charged once: its second hold is refused, unlike its neighbours', async t => {
      const { ledger, books } = shared
      const { key } = await addKey(shared.storage)
      const requests = Array.from({ length: 20 }, () => holdOf(key, 1))
      const first = requests[0] as HoldRequest
      const results = await Promise.allSettled([...requests, first].map(request => ledger.hold(request)))
      t.same(
        results.map(result => result.status),
        [...Array<string>(20).fill('fulfilled'), 'rejected'],
      )
      t.same((await books.verify()).problems, [])
    })

    await t.test('a thousand charges, fifty at a time, are a thousand charges', async t => {
      const own = await start(t)
      const { ledger, books, keys } = own
      const open = await keys.create(newKey())
      let settled = 0
      const bill = async (): Promise<void> => {
        const request = holdOf(open, 40_000)
        await ledger.hold(request)
        await ledger.line(request.facts.id, line(0))
        if (await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })) settled++
      }
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          for (let i = 0; i < 20; i++) await bill()
        }),
      )
      t.equal(settled, 1_000)
      t.same(await books.verify(), {
        charges: 1_000,
        lines: 1_000,
        entries: 1_000,
        left: 0,
        problems: [],
        sums: [],
        budgets: 0,
      })
    })
  })

  await t.test('charges without a waiting caller', async t => {
    const shared = await start(t)
    const used = [
      line(0, { tier: 'input', width: null, height: null, price: 30, quantity: 12 }),
      line(1, { tier: 'output', width: null, height: null, price: 70, quantity: 34, flags: ['estimated'] }),
    ]

    await t.test('a posted charge is settled with its items, and found before it is written', async t => {
      const { ledger, storage, books } = shared
      const { key, readKey } = await addKey(storage)
      const posted = facts(key)
      ledger.post(posted, used, 'confirmed')
      const before = await ledger.find(posted.id)
      t.match(before, { ...posted, state: 'settled', amount: 100, hold: 0, delivery: 'confirmed', lines: used })
      await storage.flush()
      t.same(await ledger.find(posted.id), before)
      t.match(await readKey(), { spent: 100, held: 0 })
      t.same((await books.verify()).problems, [])
    })

    await t.test('a charge is posted once, however often and whenever it is posted', async t => {
      const { ledger, storage, books } = shared
      const { key, readKey } = await addKey(storage)
      const posted = facts(key)
      ledger.post(posted, used, 'confirmed')
      ledger.post(posted, used, 'confirmed')
      await storage.flush()
      ledger.post(posted, used, 'partial')
      await storage.flush()
      t.match(await ledger.find(posted.id), { amount: 100, delivery: 'confirmed' })
      t.match(await readKey(), { spent: 100 })
      t.same((await books.verify()).problems, [])
    })

    await t.test('posting ends a charge that was held, at more or less than its hold', async t => {
      const { ledger, storage, books } = shared
      const { key, readKey } = await addKey(storage)
      for (const hold of [1_000, 1]) {
        const request = holdOf(key, hold)
        await ledger.hold(request)
        ledger.post(request.facts, used, 'partial')
        await storage.flush()
        t.match(await ledger.find(request.facts.id), { state: 'settled', amount: 100, hold, delivery: 'partial' })
      }
      t.match(await readKey(), { spent: 200, held: 0 })
      t.same((await books.verify()).problems, [])
    })

    await t.test('posting to an ended charge changes nothing', async t => {
      const { ledger, storage, books } = shared
      const { key, readKey } = await addKey(storage)
      const request = holdOf(key, 10)
      await ledger.hold(request)
      await ledger.void(request.facts.id, 'refused')
      ledger.post(request.facts, used, 'confirmed')
      await storage.flush()
      t.match(await ledger.find(request.facts.id), { state: 'voided', amount: 0, lines: [] })
      t.match(await readKey(), { spent: 0, held: 0 })
      t.same((await books.verify()).problems, [])
    })

    await t.test('texts that databases alter do not unbalance the books', async t => {
      const { ledger, storage, books } = shared
      const { key } = await addKey(storage)
      const odd = { size: 'a\0b\ud800', quality: '\udfff' }
      const posted = facts(key, odd)
      ledger.post(posted, used, 'confirmed')
      const request = holdOf(key, 100, odd)
      await ledger.hold(request)
      await ledger.line(request.facts.id, line(0))
      await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
      storage.journal.append(logRow({ clientRequestId: 'a\0b' }))
      await storage.flush()
      for (const id of [posted.id, request.facts.id])
        t.match(await ledger.find(id), { state: 'settled', size: 'a\uFFFDb\uFFFD', quality: '\uFFFD' })
      t.equal((await storage.journal.list({ limit: 10 })).length, 1)
      t.same((await books.verify()).problems, [])
    })

    await t.test('no items make no charge', async t => {
      const { ledger, storage } = shared
      const { key } = await addKey(storage)
      const posted = facts(key)
      ledger.post(posted, [], 'confirmed')
      await storage.flush()
      t.equal(await ledger.find(posted.id), undefined)
    })

    await t.test('a charge that cannot be written affects none of its neighbours', async t => {
      const { ledger, storage, books } = shared
      const { key, readKey } = await addKey(storage)
      const good = Array.from({ length: 20 }, () => facts(key))
      const bad = facts({ ...key, id: 'key_none' })
      for (const one of [...good.slice(0, 7), bad, ...good.slice(7)]) ledger.post(one, used, 'confirmed')
      await storage.flush()
      t.match(await readKey(), { spent: 2_000 })
      t.equal(await ledger.find(bad.id), undefined)
      t.same((await books.verify()).problems, [])
    })

    await t.test('a charge too large for exact sums is not written, and all others can still be read', async t => {
      const { ledger, storage, books } = shared
      const { key, readKey } = await addKey(storage)
      for (const price of [1e15, 1e15 + 1, 2 ** 53, 1e300])
        ledger.post(facts(key), [line(0, { tier: 'input', width: null, height: null, price })], 'confirmed')
      await storage.flush()
      t.match(await readKey(), { spent: 1e15 })
      t.same((await books.verify()).problems, [])
    })

    await t.test('a thousand concurrent charges exist after closing without a flush', async t => {
      const harness = await make()
      const first = await harness.open('gateway')
      const key = await first.keys.create(newKey())
      for (let i = 0; i < 1_000; i++) first.ledger.post(facts(key), used, 'confirmed')
      await first.close()
      const again = await harness.open('gateway')
      t.same(await again.books.verify(), {
        charges: 1_000,
        lines: 2_000,
        entries: 1_000,
        left: 0,
        problems: [],
        sums: [],
        budgets: 0,
      })
      t.match(await again.keys.list({ limit: 1_000 }), [{ spent: 100_000, held: 0 }])
      await again.close()
      await harness.close()
    })
  })

  await t.test('budgets', async t => {
    const shared = await start(t)
    await t.test('exactly ten of 200 concurrent requests on a budget for ten are admitted', async t => {
      const { ledger, keys, books } = shared
      const poor = await keys.create(newKey({ budget: 400_000 }))
      const results = await Promise.all(Array.from({ length: 200 }, () => ledger.hold(holdOf(poor, 40_000))))
      t.equal(results.filter(result => result.kind === 'held').length, 10)
      t.same(
        results.find(result => result.kind === 'overdrawn'),
        { kind: 'overdrawn', level: 'key', availableMicros: 0, heldMicros: 400_000, renewsAt: null },
      )
      t.match(
        (await keys.list({ limit: 1_000 })).find(one => one.id === poor.id),
        { held: 400_000, spent: 0 },
      )
      t.same((await books.verify()).problems, [])
    })

    await t.test('an overdrawn key gets the remaining amount', async t => {
      const { ledger, keys } = shared
      const poor = await keys.create(newKey({ budget: 100 }))
      await ledger.hold(holdOf(poor, 60))
      const refusal = { kind: 'overdrawn', level: 'key', availableMicros: 40, heldMicros: 60, renewsAt: null }
      t.same(await ledger.hold(holdOf(poor, 41)), refusal)
      t.same(await ledger.hold(holdOf(poor, 40)), { kind: 'held' })
    })

    await t.test('a key without a budget is charged without limit', async t => {
      const { ledger, keys } = shared
      const rich = await keys.create(newKey())
      t.same(await ledger.hold(holdOf(rich, 1_000_000_000_000)), { kind: 'held' })
    })
  })

  await t.test('idempotency keys', async t => {
    const shared = await start(t)
    const again = (request: HoldRequest): HoldRequest => ({
      ...request,
      facts: { ...request.facts, id: ids.next('req_', Date.now()) },
    })
    const idempotent = (key: Key, name = 'once', fingerprint = 'f'): HoldRequest => ({
      ...holdOf(key, 10),
      idempotency: { key: name, fingerprint },
    })

    await t.test('fifty concurrent requests are one charge; the others get its status', async t => {
      const { ledger, books } = shared
      const { key } = await addKey(shared.storage)
      const first = idempotent(key)
      const results = await Promise.all(Array.from({ length: 50 }, () => ledger.hold(again(first))))
      t.equal(results.filter(result => result.kind === 'held').length, 1)
      t.equal(results.filter(result => result.kind === 'running').length, 49)
      t.same((await books.verify()).problems, [])
    })

    await t.test('another request under the same key is a mismatch; another operation or key has its own', async t => {
      const { ledger, keys } = shared
      const { key } = await addKey(shared.storage)
      const first = idempotent(key)
      await ledger.hold(first)
      t.same(await ledger.hold(idempotent(key, 'once', 'g')), { kind: 'mismatch', chargeId: first.facts.id })
      const edit = again(first)
      t.same(await ledger.hold({ ...edit, facts: { ...edit.facts, operation: 'image.edit' } }), { kind: 'held' })
      t.same(await ledger.hold(idempotent(await keys.create(newKey()))), { kind: 'held' })
    })

    await t.test('after the end the stored answer is returned byte for byte', async t => {
      const { ledger } = shared
      const { key } = await addKey(shared.storage)
      const first = idempotent(key)
      const { id } = first.facts
      await ledger.hold(first)
      await ledger.line(id, line(0))
      const body = Buffer.from([0, 1, 2, 255, 254])
      const answer = { status: 200, headers: { 'content-type': 'application/json' }, body }
      await ledger.settle({ id, delivery: 'unconfirmed', reason: null, answer })
      t.same(await ledger.hold(again(first)), { kind: 'ended', chargeId: id, answer })
      const ended = await ledger.hold(again(first))
      t.ok(ended.kind === 'ended' && Buffer.isBuffer(ended.answer?.body))
    })

    await t.test('a settled charge without a stored answer and one in review keep the key', async t => {
      const { ledger } = shared
      const { key } = await addKey(shared.storage)
      const [settled, review] = [idempotent(key, 'a'), idempotent(key, 'b')]
      await ledger.hold(settled)
      await ledger.line(settled.facts.id, line(0))
      await ledger.settle({ id: settled.facts.id, delivery: 'confirmed', reason: null })
      await ledger.hold(review)
      await ledger.review(review.facts.id, 'timeout')
      for (const one of [settled, review]) {
        t.same(await ledger.hold(again(one)), { kind: 'ended', chargeId: one.facts.id, answer: null })
      }
    })

    await t.test('a void charge frees the key', async t => {
      const { ledger } = shared
      const { key } = await addKey(shared.storage)
      const first = idempotent(key)
      await ledger.hold(first)
      await ledger.void(first.facts.id, 'refused')
      t.same(await ledger.hold(again(first)), { kind: 'held' })
    })

    await t.test('the key is kept for 24 hours, and then is free', async t => {
      const clock = clockAt(Date.now())
      const own = await start(t, clock)
      const { ledger } = own
      const { key } = await addKey(own.storage)
      const first = idempotent(key)
      await ledger.hold(first)
      await ledger.line(first.facts.id, line(0))
      await ledger.settle({ id: first.facts.id, delivery: 'confirmed', reason: null })
      clock.set(clock.now() + day - 1)
      t.match(await ledger.hold(again(first)), { kind: 'ended' })
      clock.set(clock.now() + 1)
      t.same(await ledger.hold(again(first)), { kind: 'held' })
    })
  })

  await t.test('the books', async t => {
    const shared = await start(t)
    async function settled(ledger: Storage['ledger'], key: Key) {
      const request = holdOf(key, 40_000)
      await ledger.hold(request)
      await ledger.line(request.facts.id, line(0))
      await ledger.settle({ id: request.facts.id, delivery: 'unconfirmed', reason: null })
      return request.facts.id
    }

    await t.test('a refund is an opposite entry: the charge is unchanged, and the money is returned once', async t => {
      const { ledger, books } = shared
      const { key, readKey } = await addKey(shared.storage)
      const id = await settled(ledger, key)
      const before = await ledger.find(id)
      t.equal(await books.refund(id, 'ada', 'not received'), 40_000)
      t.equal(await books.refund(id, 'ada', 'again'), 0)
      t.equal(await books.refund('req_none', 'ada', 'x'), 0)
      t.same(await ledger.find(id), { ...before, refunded: 40_000 })
      t.match(await readKey(), { spent: 0, held: 0 })
      t.same((await books.verify()).problems, [])
    })

    await t.test('a person ends a charge in review, once', async t => {
      const { ledger, books } = shared
      const { key } = await addKey(shared.storage)
      for (const how of ['settle', 'void'] as const) {
        const request = holdOf(key, 40_000)
        await ledger.hold(request)
        await ledger.review(request.facts.id, 'timeout')
        t.equal(await books.resolve(request.facts.id, how, 'ada', 'asked the upstream'), true)
        t.equal(await books.resolve(request.facts.id, 'void', 'ada', 'again'), false)
        const state = how === 'settle' ? 'settled' : 'voided'
        t.match(await ledger.find(request.facts.id), { state, reason: 'asked the upstream', amount: 0 })
      }
      t.same((await books.verify()).problems, [])
    })

    await t.test('[6.3] estimated items wait for a person: booked when settled, not owed when void', async t => {
      const { ledger, books } = shared
      const { key, readKey } = await addKey(shared.storage)
      for (const [how, amount] of [
        ['void', 0],
        ['settle', 40_000],
      ] as const) {
        const { facts } = holdOf(key, 40_000)
        await ledger.hold({ facts, hold: 40_000, idempotency: null })
        t.equal(await ledger.line(facts.id, line(0)), true)
        t.equal(await ledger.review(facts.id, 'usage_implausible', { hold: 'kept', lined: true, vendorCost: 77 }), true)
        t.match(await ledger.find(facts.id), { state: 'needs_review', amount: 40_000, lines: [line(0)] })
        t.match(await readKey(), { spent: 0 })
        t.same((await books.verify()).problems, [])
        t.equal(await books.resolve(facts.id, how, 'ada', 'asked the upstream'), true)
        t.match(await ledger.find(facts.id), { amount, lines: [line(0)], vendorCost: 77 })
        t.match(await readKey(), { spent: amount, held: 0 })
        t.same((await books.verify()).problems, [])
      }
    })

    await t.test('a tool next to the gateway refunds and reads; the gateway sees it', async t => {
      const { harness, ledger, books } = shared
      const { key } = await addKey(shared.storage)
      const id = await settled(ledger, key)
      const tool = await harness.open('tool')
      t.equal(await tool.books.refund(id, 'ada', 'x'), 40_000)
      await tool.close()
      t.match(await ledger.find(id), { refunded: 40_000 })
      t.same((await books.verify()).problems, [])
    })

    await t.test('all charges are paged in order, each with its items', async t => {
      const own = await start(t)
      const { ledger, books } = own
      const { key } = await addKey(own.storage)
      const ids: string[] = []
      for (let i = 0; i < 5; i++) ids.push(await settled(ledger, key))
      const first = await books.all(null, 3)
      const second = await books.all(first[2]?.id ?? null, 3)
      t.same(
        [...first, ...second].map(charge => charge.id),
        ids,
      )
      t.ok([...first, ...second].every(charge => charge.lines.length === 1))
    })

    const frauds: readonly [string, string][] = [
      ['a price changed by hand', 'UPDATE line SET price = 1 WHERE rowid_is = 2'],
      ['a price and its amounts changed by hand', 'AMOUNTS'],
      ['a line deleted', 'DELETE FROM line WHERE rowid_is = 2'],
      ['a charge deleted', 'GONE'],
      ['the last charge deleted', 'LAST GONE'],
      ['a settled charge turned void', `UPDATE charge SET state = 'voided' WHERE rowid_is = 2`],
      ['the facts of a charge changed', `UPDATE charge SET model = 'another' WHERE rowid_is = 2`],
      ['an entry deleted', 'DELETE FROM entry WHERE rowid_is = 2'],
      ['the last entry deleted', 'DELETE FROM entry WHERE rowid_is = 3'],
      ['an entry’s reason rewritten', `UPDATE entry SET reason = 'another' WHERE rowid_is = 2`],
      ['two entries in another order', 'SWAP'],
      ['what a key has spent made less', 'UPDATE key SET spent = spent - 1 WHERE spent > 0'],
      ['a hold kept on a key', 'UPDATE key SET held = held + 1'],
      ['the day of a key set back', 'UPDATE key SET day_start = day_start - 86400000'],
      ['the month of a user set back', `UPDATE account SET month_start = month_start - 86400000 WHERE kind = 'user'`],
    ]
    const defrauded = await start(t)
    const { key } = await addKey(defrauded.storage, null)
    for (const [name, sql] of frauds) {
      await t.test(`verification finds ${name}`, async t => {
        const { ledger, books, harness } = defrauded
        const ids = [await settled(ledger, key), await settled(ledger, key), await settled(ledger, key)]
        // Earlier frauds are still reported.
        const before = (await books.verify()).problems
        await harness.tamper(fraudOf(sql, ids))
        t.ok((await books.verify()).problems.some(problem => !before.includes(problem)))
      })
    }
  })

  await t.test('the journal', async t => {
    await t.test('rows are returned whole, newest first, in pages', async t => {
      const own = await start(t)
      const { storage, journal } = own
      const rows = Array.from({ length: 25 }, (_, i) =>
        logRow({ status: 200 + i, inputTokens: i, clientRequestId: 'x' }),
      )
      for (const row of rows) journal.append(row)
      await storage.flush()
      const first = await journal.list({ limit: 10 })
      const second = await journal.list({ limit: 10, before: first.at(-1)?.row.id ?? '' })
      const third = await journal.list({ limit: 10, before: second.at(-1)?.row.id ?? '' })
      t.same(
        [...first, ...second, ...third].map(({ row }) => row),
        rows.toReversed(),
      )
    })

    await t.test('rows are filtered by id, key, user and model, and carry their charge', async t => {
      const own = await start(t)
      const { storage, journal, ledger } = own
      const { key } = await addKey(own.storage)
      const request = holdOf(key, 40_000)
      await ledger.hold(request)
      await ledger.line(request.facts.id, line(0))
      await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
      const charged = logRow({ id: request.facts.id, keyId: key.id })
      const other = logRow({ user: 'ada', model: 'beta-imagine-image' })
      journal.append(charged)
      journal.append(other)
      await storage.flush()
      const ids = async (filter: object) => (await journal.list({ limit: 10, ...filter })).map(({ row }) => row.id)
      t.same(await ids({ keyId: key.id }), [charged.id])
      t.same(await ids({ id: other.id }), [other.id])
      t.same(await ids({ user: 'ada' }), [other.id])
      t.same(await ids({ model: 'alpha-image-2' }), [charged.id])
      t.same(await ids({ model: 'alpha-image-2', user: 'ada' }), [])
      const [found] = await journal.list({ limit: 1, id: charged.id })
      t.same(found?.charge, await ledger.find(charged.id))
      t.equal((await journal.list({ limit: 1, id: other.id }))[0]?.charge, null)
    })

    await t.test('a key shows when it was last used', async t => {
      const own = await start(t)
      const { storage, journal } = own
      const { key, readKey } = await addKey(own.storage)
      journal.append(logRow({ keyId: key.id, time: 1_234 }))
      await storage.flush()
      t.match(await readKey(), { lastUsedAt: 1_234 })
    })

    await t.test('appended rows exist after closing without a flush', async t => {
      const harness = await make()
      const storage = await harness.open('gateway')
      const row = logRow()
      storage.journal.append(row)
      await storage.close()
      const again = await harness.open('tool')
      t.same(
        (await again.journal.list({ limit: 5 })).map(({ row }) => row),
        [row],
      )
      await again.close()
      await harness.close()
    })
  })

  await t.test('after the death of a gateway', async t => {
    await t.test(
      'charges with items are settled at them, those that bought nothing are voided, the others go to review',
      async t => {
        const harness = await make()
        const child = await harness.child('gateway', 'leave-open')
        const left = JSON.parse(await child.line()) as {
          readonly [name in 'keyId' | 'lined' | 'empty' | 'ended' | 'free']: string
        }
        await child.kill()
        await harness.lapse()
        const storage = await harness.open('gateway')
        t.match(await storage.ledger.find(left.lined), {
          state: 'settled',
          amount: 80_000,
          delivery: 'unconfirmed',
          reason: 'gateway_stopped',
        })
        t.match(await storage.ledger.find(left.empty), { state: 'needs_review', reason: 'gateway_stopped' })
        t.match(await storage.ledger.find(left.ended), { state: 'settled', reason: null })
        t.match(await storage.ledger.find(left.free), { state: 'voided', amount: 0, reason: 'gateway_stopped' })
        t.match(
          (await storage.keys.list({ limit: 1_000 })).find(one => one.id === left.keyId),
          { held: 0, spent: 120_000 },
        )
        t.same((await storage.books.verify()).problems, [])
        const logged = await storage.journal.list({ limit: 10 })
        t.same(new Set(logged.map(({ row }) => row.id)), new Set([left.lined, left.empty, left.ended, left.free]))
        await storage.close()
        const again = await harness.open('gateway')
        t.match(await again.ledger.find(left.lined), { state: 'settled', amount: 80_000 })
        t.equal((await again.journal.list({ limit: 10 })).length, 4)
        t.same((await again.books.verify()).problems, [])
        await again.close()
        await harness.close()
      },
    )

    await t.test('after a kill under load nothing acknowledged is lost and the books agree', async t => {
      const harness = await make()
      for (let round = 0; round < 3; round++) {
        const child = await harness.child('gateway', 'load')
        const acknowledged: string[] = []
        while (acknowledged.length < 300) acknowledged.push(await child.line())
        await child.kill()
        await harness.lapse()
        const storage = await harness.open('gateway')
        for (const id of acknowledged) {
          const charge = await storage.ledger.find(id)
          if (charge?.state !== 'settled') t.equal(charge?.state, 'settled', `${id} was acknowledged`)
        }
        const { problems, charges } = await storage.books.verify()
        t.same(problems, [])
        t.ok(charges >= acknowledged.length)
        await storage.close()
      }
      await harness.close()
    })

    await t.test('a writer of an earlier epoch is fenced off and gets an error', async t => {
      const harness = await make()
      // A hold of a tool simulates a gateway that was paused: it has the epoch of when it opened.
      const paused = await harness.open('tool')
      const key = await paused.keys.create(newKey())
      const [lined, empty] = [holdOf(key, 10), holdOf(key, 10)]
      await paused.ledger.hold(lined)
      await paused.ledger.hold(empty)
      await paused.ledger.line(lined.facts.id, line(0))
      const gateway = await harness.open('gateway')
      t.equal(await paused.ledger.line(empty.facts.id, line(0)), false)
      t.equal(await paused.ledger.line(lined.facts.id, line(1)), false)
      t.equal(await paused.ledger.line(lined.facts.id, line(0)), true, 'this one is paid for')
      t.equal(await paused.ledger.settle({ id: lined.facts.id, delivery: 'confirmed', reason: null }), false)
      t.equal(await paused.ledger.void(empty.facts.id, 'x'), false)
      t.match(await gateway.ledger.find(lined.facts.id), { state: 'settled', amount: 40_000 })
      t.same((await gateway.books.verify()).problems, [])
      await paused.close()
      await gateway.close()
      await harness.close()
    })
  })
}

/** The SQL of a fraud on the second of three charges. */
function fraudOf(sql: string, ids: readonly string[]): string {
  const [first, second, third] = ids
  if (sql === 'AMOUNTS') {
    return `UPDATE line SET price = 1 WHERE charge_id = '${second}'; UPDATE charge SET amount = 1 WHERE id = '${second}';
      UPDATE entry SET amount = 1 WHERE charge_id = '${second}'; UPDATE key SET spent = spent - 39999`
  }
  if (sql === 'GONE') return `DELETE FROM charge WHERE id = '${second}'`
  if (sql === 'LAST GONE') return `DELETE FROM charge WHERE id = '${third}'`
  if (sql === 'SWAP') {
    const at = (id: string | undefined) => `(SELECT position FROM entry WHERE charge_id = '${id}')`
    return `UPDATE entry SET position = -${at(first)} WHERE charge_id = '${first}';
      UPDATE entry SET position = ${at(second)} - 1 WHERE charge_id = '${second}';
      UPDATE entry SET position = 1 - ${at(first)} WHERE charge_id = '${first}'`
  }
  const column = sql.includes(' charge ') ? 'id' : 'charge_id'
  return sql.replace('rowid_is = 2', `${column} = '${second}'`).replace('rowid_is = 3', `${column} = '${third}'`)
}
