import t, { type Test } from 'tap'
import type { Classification } from '../../src/engine/classify-response/classify.ts'
import { KeyBudgets } from '../../src/engine/vendor-keys/key-budgets.ts'
import { KeyStates } from '../../src/engine/vendor-keys/key-states.ts'
import type { KeyStatus, VendorKey } from '../../src/domain/index.ts'
import { planUpstream } from '../harness/engine.ts'
import { HandTime } from '../harness/hand-time.ts'

const minute = 60_000
const model = 'alpha'
const key = keyOf('first', 'hash')
const limited: Classification = { class: 'not_sold', key: 'cooling', code: '429' }
const invalid: Classification = { class: 'not_sold', key: 'invalid', code: '401 invalid_api_key' }
const poor: Classification = { class: 'not_sold', key: 'no_credit', code: '402' }

function keyOf(name: string, hash: string): VendorKey {
  return {
    name,
    id: `up/${name}`,
    upstream: planUpstream('up', 'http://127.0.0.1:1', { key: name }),
    hash,
    hint: '',
    weight: 1,
  }
}

/** The storage's record of a suspended key. */
function word(changes: Partial<KeyStatus>): KeyStatus {
  const plain = { upstream: 'up', key: 'first', model: '', hash: 'hash', tries: 0 }
  const since = new HandTime().now()
  const own = { state: 'suspended', reason: 'operator', code: 'over its bill', since, until: null } as const
  return { ...plain, ...own, changedAt: since, ...changes }
}

function open(_t: Test) {
  const clock = new HandTime()
  const changes: KeyStatus[] = []
  const states = new KeyStates({ clock, onChange: status => void changes.push(status) })
  const kind = (of = key, forModel = model) => states.admission(of, forModel).kind
  return { clock, states, changes, kind }
}

t.test('a limited key cools for as long as its vendor reports, at most an hour', async t => {
  const { clock, states, kind } = open(t)
  t.equal(kind(), 'open')
  t.equal(states.refused(key, { ...limited, retryAfterMs: 7_000 }), false)
  t.match(states.admission(key, model), { kind: 'shut', reason: 'limited', waitMs: 7_000 })
  clock.pass(6_999)
  t.equal(kind(), 'shut')
  clock.pass(1)
  t.equal(kind(), 'open')
  states.refused(key, { ...limited, retryAfterMs: 10 * 3_600_000 })
  t.match(states.admission(key, model), { waitMs: 3_600_000 })
})

t.test('without a time it cools for 15 s, doubled each time up to five minutes, until it is served', async t => {
  const { clock, states, kind } = open(t)
  for (const seconds of [15, 30, 60, 120, 240, 300, 300]) {
    states.refused(key, limited)
    states.refused(key, limited)
    t.match(states.admission(key, model), { waitMs: seconds * 1_000 }, `${seconds} s, though two were under way`)
    states.succeeded(key, model, false)
    t.equal(kind(), 'shut', 'one that began before proves nothing')
    clock.pass(seconds * 1_000)
  }
  states.succeeded(key, model, false)
  t.same(states.of(key), [])
  states.refused(key, limited)
  t.match(states.admission(key, model), { waitMs: 15_000 })
})

t.test('an invalid key is probed for free after 1, 5, 15 and 60 minutes and each hour', async t => {
  const { clock, states, changes, kind } = open(t)
  t.equal(states.refused(key, invalid), true)
  t.equal(states.refused(key, invalid), false, 'reported once')
  t.match(changes, [{ state: 'suspended', reason: 'invalid', code: '401 invalid_api_key', model: '' }])
  for (const minutes of [1, 5, 15, 60, 60, 60]) {
    clock.pass(minutes * minute - 1)
    t.equal(states.isDue(key), false, `before ${minutes} min`)
    clock.pass(1)
    t.equal(states.isDue(key), true, `after ${minutes} min`)
    t.equal(kind(), 'shut', 'no caller tries it')
    states.stays(key)
  }
  states.resume(key)
  t.equal(kind(), 'open')
  t.match(changes.at(-1), { state: 'active', reason: null })
})

t.test('if no probe can verify it, one request tries it every half hour', async t => {
  const { clock, states, kind } = open(t)
  states.refused(key, invalid)
  clock.pass(minute)
  states.probeFailed(key)
  t.equal(kind(), 'shut')
  clock.pass(30 * minute)
  t.equal(kind(), 'trial')
  states.tries(key)
  t.equal(kind(), 'shut', 'one at a time')
  states.refused(key, invalid)
  t.equal(kind(), 'shut')
  clock.pass(30 * minute)
  t.equal(kind(), 'trial')
  states.tries(key)
  states.succeeded(key, model, true)
  t.equal(kind(), 'open')
})

t.test('a key without credit is tried by one request each half hour, and by no probe', async t => {
  const { clock, states, kind } = open(t)
  t.equal(states.refused(key, poor), true)
  clock.pass(30 * minute - 1)
  t.equal(kind(), 'shut')
  clock.pass(1)
  t.equal(states.isDue(key), false)
  t.equal(kind(), 'trial')
  states.tries(key)
  states.succeeded(key, model, false)
  t.equal(kind(), 'shut', 'one that began before proves nothing')
  states.succeeded(key, model, true)
  t.equal(kind(), 'open')
})

t.test('a changed secret is another key: it is used at once', async t => {
  const { states, kind } = open(t)
  states.refused(key, invalid)
  t.equal(kind(keyOf('first', 'another')), 'open')
  t.equal(kind(), 'shut')
  t.equal(kind(keyOf('second', 'hash')), 'open')
})

t.test('a key suspended by an operator stays so, whatever the answers', async t => {
  const { clock, states, kind } = open(t)
  states.learn(word({ until: null }))
  t.match(states.admission(key, model), { kind: 'shut', reason: 'operator', waitMs: null })
  states.refused(key, limited)
  states.refused(key, invalid)
  states.succeeded(key, model, true)
  clock.pass(100 * 60 * minute)
  t.equal(states.isDue(key), false)
  t.equal(kind(), 'shut')
  t.equal(kind(keyOf('first', 'another')), 'shut', 'with another secret too')
  states.resume(key)
  t.equal(kind(), 'open')
})

t.test('a key suspended by an operator for a time is used again afterwards, like any other', async t => {
  const { clock, states, kind } = open(t)
  states.refused(key, limited)
  states.learn(word({ until: clock.now() + minute, changedAt: clock.now() - 1 }))
  t.match(states.admission(key, model), { reason: 'operator' }, 'whatever was found meanwhile')
  t.equal(states.isReleased(key), false)
  clock.pass(minute)
  t.equal(kind(), 'open')
  t.equal(states.isReleased(key), true)
  t.same(states.of(key), [])
  t.equal(states.refused(key, invalid), true)
  t.match(states.of(key), [{ state: 'suspended', reason: 'invalid' }])
})

t.test('a model that a key does not serve is not requested for ten minutes, and others are', async t => {
  const { clock, states, kind } = open(t)
  states.modelRefused(key, model, '404 model_not_found')
  t.equal(kind(), 'shut')
  t.equal(kind(key, 'beta'), 'open')
  clock.pass(10 * minute)
  t.equal(kind(), 'open')
})

t.test('among findings of other processes the later one counts', async t => {
  const { clock, states, kind, changes } = open(t)
  const found: KeyStatus = {
    upstream: 'up',
    key: 'first',
    model: '',
    hash: 'hash',
    state: 'suspended',
    reason: 'no_credit',
    code: '402',
    since: clock.now(),
    until: clock.now() + minute,
    tries: 1,
    changedAt: clock.now(),
  }
  states.learn(found)
  t.equal(kind(), 'shut')
  states.resume(key)
  states.learn(found)
  t.equal(kind(), 'open', 'an old word')
  states.learn({ ...found, changedAt: clock.now() + 10 })
  t.equal(kind(), 'shut')
  t.equal(changes.length, 1, 'learned findings are not reported again')
})

t.test('a clock that is set back prolongs no pause', async t => {
  const { clock, states, kind } = open(t)
  states.refused(key, { ...limited, retryAfterMs: 20_000 })
  clock.ms -= 24 * 3_600_000
  t.match(states.admission(key, model), { kind: 'shut', waitMs: 20_000 })
  clock.pass(20_000)
  t.equal(kind(), 'open')
  states.refused(key, invalid)
  clock.ms -= 24 * 3_600_000
  t.equal(states.isDue(key), false)
  clock.pass(minute)
  t.equal(states.isDue(key), true)
})

t.test('a day of a budget is in the zone of budgets', async t => {
  // Noon in UTC, nine in the evening in Tokyo.
  const clock = new HandTime()
  const daily = { ...key, budget: { amount: 10, per: 'day' } } as const
  const budgets = { tokyo: new KeyBudgets(clock, 'Asia/Tokyo'), utc: new KeyBudgets(clock) }
  const hasRoom = () => Object.values(budgets).map(one => one.hasRoom(daily))
  for (const one of Object.values(budgets)) {
    one.asks('req_1', daily)
    one.charged('req_1', 10)
  }
  t.same(hasRoom(), [false, false])
  clock.pass(4 * 60 * minute)
  t.same(hasRoom(), [true, false], 'it is tomorrow in Tokyo')
  budgets.tokyo.learn([{ upstream: 'up', key: 'first', per: 'day', from: Date.UTC(2026, 10, 21), spent: 10 }])
  t.same(hasRoom(), [false, false], 'the stored day has the same name')
})

t.test("a budget is spent until its day or month is over, and others' spending counts", async t => {
  const clock = new HandTime()
  const budgets = new KeyBudgets(clock)
  const daily = { ...key, budget: { amount: 10, per: 'day' } } as const
  const whole = { ...keyOf('second', 'hash'), budget: { amount: 10, per: 'total' } } as const
  t.ok(budgets.hasRoom(key), 'without a budget there is room')
  budgets.asks('req_1', daily)
  t.equal(budgets.charged('req_2', 5), undefined, 'another request')
  t.equal(budgets.charged('req_1', 6), daily)
  t.ok(budgets.hasRoom(daily))
  t.equal(budgets.charged('req_1.u', 4), daily, 'its second charge')
  t.notOk(budgets.hasRoom(daily))
  t.equal(budgets.spentOf(daily), 10)
  clock.pass(24 * 60 * minute)
  t.ok(budgets.hasRoom(daily))
  budgets.asks('req_3', daily)
  budgets.asks('req_3', key)
  t.equal(budgets.charged('req_3', 4), key, 'the last upstream called is paid')
  budgets.asks('req_4', daily)
  budgets.asks('req_4', { ...key, isOnly: true })
  t.equal(budgets.charged('req_4', 4), undefined, 'a key that is in no list has no budget, ever')
  budgets.learn([{ upstream: 'up', key: 'second', per: 'total', from: 0, spent: 10 }])
  t.notOk(budgets.hasRoom(whole))
  budgets.learn([{ upstream: 'up', key: 'second', per: 'total', from: 0, spent: 3 }])
  t.notOk(budgets.hasRoom(whole), 'a word from before')
})
