import type { Test } from 'tap'
import type { KeyStatus } from '../../src/domain/index.ts'
import { clockAt, type Harness, openHarness } from './storage.ts'

const day = 86_400_000
/** The last hour of a month. */
const at = Date.UTC(2026, 10, 30, 23)

/** Tests of the keys of upstreams, for every storage driver. */
export async function vendorKeysContract(t: Test, make: Harness): Promise<void> {
  const harness = await make()
  const storage = await harness.open('gateway', clockAt(at))
  t.teardown(async () => {
    await storage.close()
    await harness.close()
  })
  const { vendorKeys, jobs } = storage
  const status: KeyStatus = {
    upstream: 'one',
    key: 'first',
    model: '',
    hash: 'abc',
    state: 'suspended',
    reason: 'invalid',
    code: '401 invalid_api_key',
    since: at,
    until: at + 60_000,
    tries: 1,
    changedAt: at,
  }

  await t.test('the status of a key is stored by upstream, key and model', async t => {
    t.same(await vendorKeys.list(), [])
    await vendorKeys.put(status)
    const other = { ...status, key: 'second', model: 'm', state: 'cooling', reason: 'model', code: null } as const
    await vendorKeys.put({ ...other, until: null })
    t.same(await vendorKeys.list(), [status, { ...other, until: null }])
  })

  await t.test('of two updates of one key the later one stays, in either order', async t => {
    const later = { ...status, state: 'active', reason: null, code: null, until: null, changedAt: at + 5 } as const
    await vendorKeys.put(later)
    await vendorKeys.put({ ...status, changedAt: at + 4 })
    t.same((await vendorKeys.list())[0], later)
  })

  await t.test('a suspended or resumed key is reported once, as is the last one of its upstream', async t => {
    const own = await openHarness(t, make, clockAt(at))
    const { vendorKeys: keys, events } = own.storage
    const others = [{ name: 'second', hash: 'def' }]
    const first = { ...status, upstream: 'two' }
    const second = { ...first, key: 'second', hash: 'def' }
    const kinds = async () =>
      (await events.after(0, 50)).map(
        ({ kind, data }) => kind + (typeof data['key'] === 'string' ? ` ${data['key']}` : ''),
      )
    await keys.put({ ...first, state: 'cooling', reason: 'limited' }, others)
    await keys.put({ ...first, changedAt: at + 1 }, others)
    await keys.put({ ...first, changedAt: at + 2, tries: 2 }, others)
    await keys.put({ ...first, model: 'm', changedAt: at + 2 }, others)
    t.same(await kinds(), ['upstream.key_suspended first'], 'a finding of several processes is reported once')
    await keys.put({ ...second, hash: 'old' }, [{ name: 'first', hash: 'other' }])
    t.same((await kinds()).slice(1), ['upstream.key_suspended second'], 'of another secret nothing is known')
    await keys.put({ ...second, changedAt: at + 1 }, [{ name: 'first', hash: 'abc' }])
    t.same((await kinds()).slice(2), ['upstream.key_suspended second', 'upstream.exhausted'])
    const back = { state: 'active', reason: null, code: null, until: null, changedAt: at + 9 } as const
    await keys.put({ ...first, ...back }, others)
    await keys.put({ ...first, ...back, changedAt: at + 10 }, others)
    t.same((await kinds()).slice(4), ['upstream.key_resumed first'])
    t.match((await events.after(0, 50))[0]?.data, { reason: 'invalid', code: '401 invalid_api_key', by: null })
  })

  await t.test('a key that has spent its budget is reported once, also as the last of its upstream', async t => {
    const { storage: own } = await openHarness(t, make, clockAt(at))
    const { vendorKeys: keys, events } = own
    const budget = { amount: 1_000_000, per: 'day' } as const
    const bound = { budget, others: [{ name: 'second', hash: 'def' }] }
    const spend = (amount: number, ms = at) =>
      keys.spend({ upstream: 'three', key: 'first', amount, at: ms, ...(amount > 1 && { bound }) })
    const readEvents = async () => (await events.after(0, 50)).map(({ kind, data }) => [kind, data['spent'] ?? null])
    await spend(999_999)
    t.same(await readEvents(), [])
    await Promise.all([spend(300_000), spend(300_000), spend(1)])
    const [first] = await events.after(0, 50)
    t.equal((await readEvents()).length, 1, 'whoever reaches it')
    t.match(first, {
      kind: 'upstream.key_exhausted',
      data: { upstream: 'three', key: 'first', amount: '1.00', per: 'day', renews: '2026-12-01T00:00:00.000Z' },
    })
    await keys.put({ ...status, upstream: 'three', key: 'second', hash: 'def' })
    await spend(1_000_000, at + day)
    t.same(
      (await readEvents()).slice(1).map(([kind]) => kind),
      ['upstream.key_suspended', 'upstream.key_exhausted', 'upstream.exhausted'],
      'another day, and nobody is left',
    )
  })

  await t.test('an upstream without keys is reported once, in whichever order its keys fail', async t => {
    const { storage: own } = await openHarness(t, make, clockAt(at))
    const { vendorKeys: keys, events } = own
    const budget = { amount: 1_000_000, per: 'day' } as const
    const others = [
      { name: 'first', hash: 'abc', budget },
      { name: 'second', hash: 'def' },
    ]
    const of = (upstream: string) => ({
      spend: (amount: number) => keys.spend({ upstream, key: 'first', amount, at, bound: { budget, others } }),
      suspend: (key: string, hash: string) => keys.put({ ...status, upstream, key, hash }, others),
    })
    for (const [name, go] of [
      ['spent, and then suspended', one => [one.spend(1_000_000), one.suspend('second', 'def')]],
      ['suspended, and then spent', one => [one.suspend('second', 'def'), one.spend(1_000_000)]],
      [
        'what was spent is suspended too',
        one => [one.suspend('second', 'def'), one.spend(2_000_000), one.suspend('first', 'abc')],
      ],
      [
        'what was suspended is spent too',
        one => [one.suspend('second', 'def'), one.suspend('first', 'abc'), one.spend(1_000_000)],
      ],
      ['what is left', one => [one.suspend('second', 'def'), one.spend(999_999)]],
    ] as readonly (readonly [string, (one: ReturnType<typeof of>) => readonly Promise<void>[]])[]) {
      await Promise.all(go(of(name)))
      const exhausted = (await events.after(0, 100)).filter(({ kind }) => kind === 'upstream.exhausted')
      const own = exhausted.filter(({ data }) => data['upstream'] === name)
      t.equal(own.length, name === 'what is left' ? 0 : 1, name)
      t.equal(own[0]?.data['keys'] ?? 2, 2, name)
    }
  })

  await t.test("a person's decision overrides later findings, and is in the audit trail", async t => {
    const clock = clockAt(at)
    const { storage: own } = await openHarness(t, make, clock)
    const { vendorKeys: keys, events, trail } = own
    const word = { upstream: 'one', key: 'first', hash: 'abc', until: null, note: null, others: undefined }
    t.equal(await keys.decide({ ...word, state: 'active' }, 'ada'), false, 'it is active')
    await keys.put({ ...status, model: 'm', reason: 'model', state: 'cooling' })
    await keys.put({ ...status, changedAt: at + 5_000 })
    const until = at + 60_000
    t.equal(await keys.decide({ ...word, state: 'suspended', until, note: 'over its bill' }, 'ada'), true)
    await keys.put({ ...status, changedAt: at + 30_000 })
    const stored = async () => (await keys.list()).find(({ model }) => model === '')
    t.match(await stored(), {
      state: 'suspended',
      reason: 'operator',
      code: 'over its bill',
      until,
      changedAt: at + 5_001,
    })
    await keys.put({ ...status, changedAt: until })
    t.match(await stored(), { reason: 'invalid' }, 'its time is over')
    clock.set(until)
    await keys.decide({ ...word, state: 'suspended', note: 'again' }, 'ada')
    t.equal(await keys.decide({ ...word, state: 'active', note: 'paid' }, 'bob'), true)
    t.match(await keys.list(), [{ state: 'active', reason: null }, { state: 'active' }], 'models too')
    t.match(await trail.list({ limit: 10 }), [
      { actor: 'bob', action: 'upstream_key.resume', subject: 'one/first', after: { state: 'active' }, reason: 'paid' },
      { action: 'upstream_key.suspend', before: { why: '401 invalid_api_key' }, after: { why: 'again' } },
      { actor: 'ada', action: 'upstream_key.suspend', after: { why: 'over its bill' }, reason: 'over its bill' },
    ])
    const facts = (await events.after(0, 50)).map(({ kind, data }) => [
      kind,
      data['by'] ?? null,
      data['reason'] ?? null,
    ])
    t.same(facts, [
      ['upstream.key_suspended', null, 'invalid'],
      ['upstream.key_suspended', 'ada', 'operator'],
      ['upstream.key_suspended', null, 'invalid'],
      ['upstream.key_suspended', 'ada', 'operator'],
      ['upstream.key_resumed', 'bob', null],
    ])
  })

  await t.test('spending by a key is added up in total, by days and by months', async t => {
    for (const [amount, when] of [
      [5, at],
      [7, at],
      [11, at + day],
    ] as const)
      await vendorKeys.spend({ upstream: 'one', key: 'first', amount, at: when })
    await Promise.all([1, 2, 3].map(amount => vendorKeys.spend({ upstream: 'one', key: 'second', amount, at })))
    const sums = await vendorKeys.spent()
    const of = (key: string, per: string) =>
      sums
        .filter(one => one.key === key && one.per === per)
        .map(({ from, spent }) => [from, spent])
        .toSorted(([a = 0], [b = 0]) => a - b)
    t.same(of('first', 'total'), [[0, 23]])
    t.same(of('first', 'day'), [
      [Date.UTC(2026, 10, 30), 12],
      [Date.UTC(2026, 11, 1), 11],
    ])
    t.same(of('first', 'month'), [
      [Date.UTC(2026, 10, 1), 12],
      [Date.UTC(2026, 11, 1), 11],
    ])
    t.same(of('second', 'total'), [[0, 6]])
  })

  await t.test('days and months are those of the zone of budgets', async t => {
    const own = await make()
    const tokyo = await own.open('gateway', clockAt(at), undefined, 'Asia/Tokyo')
    t.teardown(async () => {
      await tokyo.close()
      await own.close()
    })
    await tokyo.vendorKeys.spend({ upstream: 'one', key: 'first', amount: 5, at })
    const sums = await tokyo.vendorKeys.spent()
    // The last hour of November in UTC is a morning of December in that zone.
    t.same(sums.map(({ per, from }) => `${per} ${from}`).toSorted(), [
      `day ${Date.UTC(2026, 11, 1)}`,
      `month ${Date.UTC(2026, 11, 1)}`,
      'total 0',
    ])
  })

  await t.test('old days are deleted, and the total stays', async t => {
    await vendorKeys.spend({ upstream: 'one', key: 'first', amount: 1, at: at + 100 * day })
    const sums = (await vendorKeys.spent()).filter(one => one.key === 'first')
    t.same(sums.map(({ per, spent }) => `${per} ${spent}`).toSorted(), ['day 1', 'month 1', 'total 24'])
  })

  await t.test('a job stores the key that it began with', async t => {
    const job = {
      id: 'req_1',
      keyId: 'key_1',
      operation: 'o',
      model: 'm',
      upstream: 'one',
      n: 1,
      told: [],
      deadlineAt: at,
    }
    await jobs.open({ ...job, vendorKey: 'first' }, 'waited')
    await jobs.open({ ...job, id: 'req_2' }, 'waited')
    t.equal((await jobs.find('req_1'))?.vendorKey, 'first')
    t.equal((await jobs.find('req_2'))?.vendorKey, null)
  })
}
