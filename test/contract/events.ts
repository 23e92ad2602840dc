import type { Test } from 'tap'
import type { FeedEvent, FeedQuery, Key, Storage } from '../../src/domain/index.ts'
import { clockAt, facts, type Harness, line, newKey, openHarness } from './storage.ts'
import { used } from './charge-batches.ts'

const start = Date.UTC(2026, 10, 30, 23, 59)
const minute = 60_000

/** Tests of events, for every storage driver. */
export async function eventsContract(t: Test, make: Harness): Promise<void> {
  const clock = clockAt(start)
  const opened = async (t: Test) => {
    const { harness, storage } = await openHarness(t, make, clock)
    return { harness, storage, ...storage }
  }

  await t.test('events are read in stored order from any position', async t => {
    const { events } = await opened(t)
    clock.set(start)
    t.same(await events.after(0, 10), [])
    await events.add({ kind: 'budget.threshold', data: { group: 'default', percent: 80 } })
    clock.set(start + 1_000)
    await events.add({ kind: 'upstream.key_suspended', data: { upstream: 'ä "quoted"', key: null } })
    await events.add({ kind: 'config.applied', data: {} })
    const all = await events.after(0, 10)
    t.match(all, [
      { at: start, kind: 'budget.threshold', data: { group: 'default', percent: 80 } },
      { at: start + 1_000, kind: 'upstream.key_suspended', data: { upstream: 'ä "quoted"', key: null } },
      { at: start + 1_000, kind: 'config.applied', data: {} },
    ])
    const ids = all.map(({ id }) => id)
    t.same(
      ids,
      ids.toSorted((a, b) => a - b),
    )
    t.same(await events.after(ids[0] ?? 0, 1), [all[1]])
    t.same(await events.after(ids[2] ?? 0, 10), [])
    const applied = { kind: 'config.applied', data: { revision: 'a' } } as const
    for (const event of [applied, applied, { ...applied, data: { revision: 'b' } }, applied])
      await events.addUnlessRepeated(event)
    t.same(
      (await events.after(ids[2] ?? 0, 10)).map(({ data }) => data['revision']),
      ['a', 'b', 'a'],
      'what several see happen is told once',
    )
    await events.addUnlessRepeated({ ...applied, data: {} }, 'config.refused')
    for (const host of ['one', 'other']) await events.addUnlessRepeated({ kind: 'config.refused', data: { host } })
    for (const revision of ['a', 'b'])
      await events.addUnlessRepeated({ ...applied, data: { revision } }, 'config.refused')
    t.match(
      (await events.after(ids[2] ?? 0, 10)).slice(3),
      [
        { kind: 'config.refused', data: { host: 'one' } },
        { kind: 'config.applied', data: { revision: 'a' } },
      ],
      'and what only ends another where that was the last',
    )
  })

  await t.test('a change and its event are in one transaction, with field names and without values', async t => {
    const { keys, users, events } = await opened(t)
    await users.create({ name: 'ada', group: 'partner', role: 'user', passwordHash: 'argon2' }, 'bob')
    const key = await keys.create(newKey({ user: 'ada', hash: 'first', hint: 'sk-…abcd' }), 'bob')
    await keys.change(key.id, { name: 'two', budget: 5 }, 'bob')
    await keys.change(key.id, { name: 'two' }, 'bob')
    await keys.rotate(key.id, { hash: 'next', hint: 'sk-…efgh', overlapMs: 5 }, 'ada')
    await keys.revoke(key.id, 'bob')
    await users.change('ada', { status: 'disabled' }, 'bob')
    await users.setPassword('ada', 'argon2-next', 'ada')
    const listed = await events.after(0, 20)
    const whose = { key_id: key.id, user: 'ada' }
    t.match(listed.slice(1), [
      { kind: 'key.created', data: { ...whose, action: 'key.create', by: 'bob' } },
      { kind: 'key.changed', data: { ...whose, action: 'key.change', by: 'bob', changed: ['name', 'budget'] } },
      { kind: 'key.changed', data: { ...whose, action: 'key.rotate', by: 'ada' } },
      { kind: 'key.revoked', data: { ...whose, by: 'bob', changed: ['status'] } },
      { kind: 'user.changed', data: { user: 'ada', by: 'bob', changed: ['status'] } },
      { kind: 'user.changed', data: { user: 'ada', action: 'user.password', changed: [] } },
    ])
    t.match(listed[0], { kind: 'user.created', data: { user: 'ada', by: 'bob' } })
    t.equal(listed.length, 7, 'a change without an effect sends no event')
    t.notMatch(JSON.stringify(listed), /argon2|sk-…|first|next/)
  })

  await t.test('every charge has one event with its amount, and nothing else has one', async t => {
    const { storage, keys, ledger, books, events } = await opened(t)
    const key = await keys.create(newKey({ user: 'local', budget: null }))
    const posted = await post(storage, key, 3)
    const held = facts(key, { model: 'alpha-image-2' })
    await ledger.hold({ facts: held, hold: 80_000, idempotency: null })
    const [voided, open] = [facts(key), facts(key)]
    for (const one of [voided, open]) await ledger.hold({ facts: one, hold: 80_000, idempotency: null })
    await ledger.void(voided.id, 'upstream_error')
    t.same((await settled(storage)).length, 3, 'a hold is not a charge yet')
    for (const index of [0, 1]) await ledger.line(held.id, line(index))
    await ledger.settle({ id: held.id, delivery: 'confirmed', reason: null })
    await books.refund(posted[1] ?? '', 'bob', 'spoilt')
    await books.refund(held.id, 'bob', 'spoilt')
    const all = (await readAll(storage, {})).filter(({ kind }) => kind.startsWith('charge.'))
    t.same(
      all.map(({ kind, data }) => [kind, data['charge_id'], data['amount']]),
      [
        ...posted.map(id => ['charge.settled', id, '0.0001']),
        ['charge.settled', held.id, '0.08'],
        ['charge.refunded', posted[1], '0.0001'],
        ['charge.refunded', held.id, '0.08'],
      ],
    )
    t.match(all[0]?.data, {
      request_id: posted[0],
      key_id: key.id,
      user: 'local',
      group: 'default',
      model: 'alpha-image-2',
      upstream: 'alpha',
      currency: 'USD',
      lines: [
        { tier: 'input', quantity: 12, amount: '0.00003' },
        { tier: 'output', quantity: 34, amount: '0.00007' },
      ],
    })
    t.same(all[3]?.data['lines'], [{ tier: '2K', quantity: 2, amount: '0.08' }])
    for (const event of all) t.same(await events.find(event.id), event)
    t.equal(await events.find('evt_0000000000000000000000'), undefined)
    t.same(
      all.map(({ id }) => id),
      all.map(({ id }) => id).toSorted(),
    )
  })

  await t.test('pages of any size return the same events in one stable order', async t => {
    const { storage, keys, events, books } = await opened(t)
    const key = await keys.create(newKey({ budget: null }))
    const ids: string[] = []
    for (let i = 0; i < 6; i++) {
      ids.push(...(await post(storage, key, 1 + ((i * 3) % 7))))
      await events.add({ kind: 'budget.threshold', data: { percent: i } })
      if (i % 2 === 0) await books.refund(ids.at(-1) ?? '', 'bob', '')
      if (i % 3 === 0) await events.page({ after: null, limit: 1 })
    }
    const all = await readAll(storage, {})
    t.same(new Set(all.map(({ id }) => id)).size, all.length)
    t.same(
      all.filter(({ kind }) => kind === 'charge.settled').map(({ data }) => data['charge_id']),
      ids,
    )
    for (const limit of [1, 2, 5, 100]) t.same(await readAll(storage, {}, limit), all, `${limit} a page`)
    const budgets = await readAll(storage, { kinds: ['budget.threshold'] }, 2)
    t.same(
      budgets.map(({ data }) => data['percent']),
      [0, 1, 2, 3, 4, 5],
    )
    const middle = all[Math.floor(all.length / 2)] as FeedEvent
    t.same((await events.page({ after: middle.id, limit: 1_000 })).events, all.slice(all.indexOf(middle) + 1))
    await t.rejects(async () => events.page({ after: 'evt_x', limit: 1 }))
  })

  await t.test('a user reads only their own events, and can filter by time', async t => {
    const { storage, keys, users, events } = await opened(t)
    clock.set(start)
    await users.create({ name: 'ada', group: 'partner', role: 'user', passwordHash: null })
    const [own, other] = [await keys.create(newKey({ user: 'ada' })), await keys.create(newKey())]
    await post(storage, own, 2, 'ada')
    await post(storage, other, 2)
    await events.page({ after: null, limit: 1 })
    clock.set(start + minute)
    await post(storage, own, 1, 'ada')
    await events.add({ kind: 'config.applied', data: {} })
    const mine = await readAll(storage, { user: 'ada' }, 1)
    t.same(new Set(mine.map(({ data }) => data['user'])), new Set(['ada']))
    t.equal(mine.filter(({ kind }) => kind === 'charge.settled').length, 3)
    const late = await readAll(storage, { since: start + minute })
    t.same(
      late.map(({ kind }) => kind),
      ['charge.settled', 'config.applied'],
    )
    clock.set(start)
  })

  await t.test(
    'one process sends to a receiver while it has the lease, and continues where sending stopped',
    async t => {
      const { harness, storage, events } = await opened(t)
      await events.add({ kind: 'config.applied', data: { revision: 'a' } })
      const held = await events.webhooks.claim('finance')
      t.ok(held)
      const from = held?.through ?? ''
      t.same((await events.page({ after: from, limit: 10 })).events, [], 'a new one gets only later events')
      t.same(await events.webhooks.claim('finance'), held)
      await events.add({ kind: 'config.applied', data: { revision: 'b' } })
      const page = await events.page({ after: from, limit: 10 })
      t.match(page.events, [{ data: { revision: 'b' } }])
      const delivery = { webhook: 'finance', from, through: page.next, arrived: [], retries: [], isBack: false }
      if (!harness.url.startsWith('sqlite:')) {
        const other = await harness.open('gateway', clock)
        t.equal(await other.events.webhooks.claim('finance'), null, 'another process sends it')
        t.equal(await other.events.webhooks.keep(delivery), false)
        await other.close()
      }
      t.equal(await events.webhooks.keep(delivery), true)
      t.equal(await events.webhooks.keep(delivery), false, 'its position was changed')
      await storage.close()
      const next = await harness.open('gateway', clock)
      t.same(await next.events.webhooks.claim('finance'), { through: page.next })
      await next.close()
    },
  )

  await t.test('an undelivered event is due at its time, and can be redelivered by hand', async t => {
    const { events } = await opened(t)
    clock.set(start)
    const { webhooks } = events
    const from = (await webhooks.claim('finance'))?.through ?? ''
    await events.add({ kind: 'config.applied', data: {} })
    await events.add({ kind: 'config.applied', data: {} })
    const { events: some, next } = await events.page({ after: from, limit: 10 })
    const [one, two] = some.map(({ id }) => id) as [string, string]
    const retry = { event: one, tries: 1, nextAt: start + 5_000, why: 'status 500' }
    const gone = { event: two, tries: 10, nextAt: null, why: 'no answer' }
    const delivery = { webhook: 'finance', from, through: next, arrived: [], retries: [retry, gone], isBack: false }
    t.equal(await webhooks.keep(delivery), true)
    t.same(await webhooks.due('finance', 10), { through: next, due: [], waiting: 1 })
    t.same(await webhooks.list(), [{ webhook: 'finance', through: next, waiting: 1, givenUp: 1 }])
    clock.set(start + 5_000)
    t.same(await webhooks.due('finance', 10), { through: next, due: [retry], waiting: 1 })
    clock.set(start)
    t.equal(await webhooks.keep({ ...delivery, from: next, retries: [], isBack: true }), true)
    t.same((await webhooks.due('finance', 10)).due.length, 1, 'the receiver is back')
    t.equal(await webhooks.again('finance', { id: two }), true)
    t.same(
      (await webhooks.due('finance', 10)).due.map(({ event, tries }) => [event, tries]),
      [
        [one, 1],
        [two, 0],
      ],
    )
    t.equal(await webhooks.keep({ ...delivery, from: next, retries: [], arrived: [one, two] }), true)
    t.same(await webhooks.due('finance', 10), { through: next, due: [], waiting: 0 })
    t.equal(await webhooks.again('finance', { after: from }), true)
    t.equal(
      await webhooks.keep({ ...delivery, from: next, retries: [] }),
      false,
      'it is sent from an earlier position on',
    )
    t.same(await webhooks.claim('finance'), { through: from })
    t.equal(await webhooks.again('nobody', { id: one }), false)
  })

  await t.test('old events are deleted, except those that a receiver has not received', async t => {
    const { storage, keys, events } = await opened(t)
    clock.set(start)
    const key = await keys.create(newKey({ budget: null }))
    const { webhooks } = events
    const from = (await webhooks.claim('finance'))?.through ?? ''
    const [charged] = await post(storage, key, 1)
    await events.add({ kind: 'config.applied', data: { revision: 'old' } })
    const { events: some, next } = await events.page({ after: from, limit: 10 })
    clock.set(start + minute)
    await events.add({ kind: 'config.applied', data: { revision: 'new' } })
    const left = async () => (await events.after(0, 10)).filter(({ kind }) => kind === 'config.applied').length
    const until = start + 1
    await events.prune(until, 100, ['finance'])
    t.equal(await left(), 2, 'the receiver got nothing')
    const retries = [{ event: some[1]?.id ?? '', tries: 1, nextAt: start, why: '' }]
    const delivery = { webhook: 'finance', from, through: next, arrived: [], retries, isBack: false }
    t.equal(await webhooks.keep(delivery), true)
    await events.prune(until, 100, ['finance'])
    t.equal(await left(), 2, 'one waits for a retry')
    t.equal(
      (await readAll(storage, {})).some(({ data }) => data['charge_id'] === charged),
      false,
      'what came before',
    )
    t.equal(await webhooks.keep({ ...delivery, from: next, retries: [], arrived: [some[1]?.id ?? ''] }), true)
    t.equal(await events.prune(until, 100, ['finance']), 1)
    t.equal(await left(), 1)
    await events.prune(start + 2 * minute, 1, [])
    t.equal(await left(), 0, 'there is no receiver')
    t.same((await storage.books.verify()).problems, [])
  })

  await t.test('events with a future time do not stop the deletion of later ones', async t => {
    const { storage, keys, events } = await opened(t)
    clock.set(start + 100 * minute)
    const key = await keys.create(newKey({ budget: null }))
    const add = async (revision: string) => {
      await post(storage, key, 1)
      await events.add({ kind: 'config.applied', data: { revision } })
      await events.page({ after: null, limit: 10 })
    }
    for (const revision of ['a', 'b', 'c']) await add(revision)
    clock.set(start)
    await add('old')
    clock.set(start + minute)
    await add('new')
    t.equal(await events.prune(start + 1, 1, []), 1)
    t.same((await events.after(0, 10)).map(({ data }) => data['revision']).slice(1), ['a', 'b', 'c', 'new'])
    t.equal((await settled(storage)).length, 4)
  })
}

async function post(storage: Storage, key: Key, count: number, user = 'local'): Promise<string[]> {
  const posted = Array.from({ length: count }, () => facts(key, { user }))
  for (const one of posted) storage.ledger.post(one, used, 'confirmed')
  await storage.flush()
  return posted.map(({ id }) => id)
}

async function settled(storage: Storage): Promise<readonly FeedEvent[]> {
  return (await readAll(storage, {})).filter(({ kind }) => kind === 'charge.settled')
}

/** Reads all pages, one after the other. */
async function readAll(
  { events }: Storage,
  query: Omit<FeedQuery, 'after' | 'limit'>,
  limit = 3,
): Promise<readonly FeedEvent[]> {
  const all: FeedEvent[] = []
  for (let after: string | null = null; ; ) {
    const page = await events.page({ ...query, after, limit })
    all.push(...page.events)
    if (page.isOver) return all
    after = page.next
  }
}
