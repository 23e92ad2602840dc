import t from 'tap'
import { userLimits } from '../../plugins/ratelimit/limits.ts'
import { ratelimit } from '../../plugins/ratelimit/plugin.ts'
import { type Caller, callerSlot, Failure, type Limits } from '../../src/domain/index.ts'
import {
  type RequestContext,
  type Outbound,
  type Outcome,
  type Target,
  tokenUseSlot,
} from '../../src/plugin-api/index.ts'
import {
  HandClock,
  refusalOf,
  someExchange,
  someGroup,
  someHost,
  someKey,
  someTarget,
} from '../harness/request-context.ts'
import { seed, seeded } from '../harness/seed.ts'
import { caseName } from '../harness/case-name.ts'

const minute = 60_000
const answered: Outcome = { kind: 'answered', status: 200, reach: 'complete' }

function refused(reach: Outcome['reach'] = 'untouched'): Outcome {
  const failure = new Failure('some_code', { status: 400, type: 'invalid_request_error', text: '' }, 'no')
  return { kind: 'refused', status: 400, failure, reach }
}

function setUp(host = someHost({ clock: new HandClock() })) {
  const hooks = ratelimit.create({ on_store_failure: 'local' }, host)
  const arrive = (caller: Caller, route: { serve?: string } = {}): RequestContext => {
    const context = someExchange({ route })
    context.slots.put(callerSlot, caller)
    return context
  }
  return {
    hooks,
    host,
    clock: host.clock as HandClock,
    arrive,
    /** Sends a whole request; returns true if it was admitted. */
    ask: (caller: Caller, target: Target = someTarget(), outcome: Outcome = answered): boolean => {
      const context = arrive(caller)
      try {
        void hooks.onRequest?.(context)
        void hooks.onAdmit?.(context, target, undefined)
      } catch (failure) {
        if (!(failure instanceof Failure)) throw failure
        void hooks.onSettle?.(context, { kind: 'refused', status: 429, failure, reach: 'untouched' }, undefined)
        return false
      }
      void hooks.onSettle?.(context, outcome, undefined)
      return true
    },
  }
}

function caller(
  limits: Limits,
  more: { key?: string; user?: string; own?: Limits; scope?: 'key' | 'user' } = {},
): Caller {
  return {
    key: someKey({ id: more.key ?? 'key_1', user: more.user ?? 'local', limits: more.own ?? {} }),
    group: someGroup({ limits, limitScope: more.scope ?? 'key' }),
  }
}

const out: Outbound = { body: { kind: 'none' }, headers: {}, detach: false }

/** The same target, at an upstream with this limit of concurrent requests. */
function withPlaces(target: Target, concurrency: number, name = 'one'): Target {
  const upstream = { ...target.upstream, name, concurrency }
  const upstreams = [{ upstream, weight: 1, priority: 1, sendAs: target.sendAs }]
  return { ...target, upstream, model: { ...target.model, upstreams } }
}

/** How many of `n` requests in one instant are admitted. */
function count(n: number, ask: () => boolean): number {
  let admitted = 0
  for (let i = 0; i < n; i++) if (ask()) admitted++
  return admitted
}

t.test('admits exactly 100 of 1,000 concurrent requests at a limit of 100, every time', async t => {
  const admitted = new Set<number>()
  for (let i = 0; i < 100; i++) {
    const { ask } = setUp()
    admitted.add(count(1000, () => ask(caller({ rpm: 100 }))))
  }
  t.same([...admitted], [100])
})

t.test('any 60 seconds of a random schedule of 10 minutes admit at most the limit', async t => {
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  for (const limit of [1, 7, 8, 60]) {
    const { ask, clock } = setUp()
    const admitted: number[] = []
    let sent = 0
    while (clock.tick() < 10 * minute) {
      // A burst that reaches the limit; then smaller ones, pauses, fractions of a millisecond, and sometimes a step of
      // exactly one window.
      const step = random()
      if (sent > 2 * limit)
        clock.move(step < 0.6 ? random() * 20 : step < 0.98 ? (random() * 60_000) / limit : step < 0.985 ? minute : 0)
      clock.jump((random() - 0.5) * 7_200_000)
      sent++
      if (ask(caller({ rpm: limit }))) admitted.push(clock.tick())
    }
    let most = 0
    for (let from = 0, to = 0; to < admitted.length; to++) {
      while ((admitted[to] as number) - (admitted[from] as number) >= minute) from++
      most = Math.max(most, to - from + 1)
    }
    t.equal(most, limit, `limit ${limit}: ${admitted.length} of ${sent} admitted`)
  }
})

t.test('a client that waits for Retry-After is admitted, and none that waits a millisecond less', async t => {
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  let tried = 0
  for (let i = 0; i < 2000; i++) {
    const { hooks, arrive, clock, ask } = setUp()
    const who = caller({ rpm: 1 + Math.floor(random() * 5) })
    const target = someTarget({ limits: random() < 0.5 ? { rpm: 1 + Math.floor(random() * 5) } : {} })
    clock.move(random() * 1e9)
    let failure: Failure | undefined
    while (!failure) {
      const context = arrive(who)
      clock.move(random() * 9_000)
      try {
        void hooks.onRequest?.(context)
        void hooks.onAdmit?.(context, target, undefined)
      } catch (error) {
        failure = error as Failure
      }
    }
    const wait = failure.retryAfterMs as number
    if (!Number.isInteger(wait) || wait < 1 || wait > minute) t.fail(`${wait} is no wait`)
    clock.move(wait - 1)
    if (ask(who, target)) t.fail(`admitted before ${wait} ms`)
    clock.move(1)
    if (ask(who, target)) tried++
  }
  t.equal(tried, 2000)
})

t.test('a refused request consumes nothing', async t => {
  const { ask, clock } = setUp()
  const who = caller({ rpm: 10 })
  t.equal(
    count(10, () => ask(who)),
    10,
  )
  clock.move(30_000)
  t.equal(
    count(500, () => ask(who)),
    0,
  )
  clock.move(30_000)
  t.equal(
    count(500, () => ask(who)),
    10,
  )
})

t.test("a refusal by the model's limit leaves the key's limit unchanged", async t => {
  const { ask } = setUp()
  const who = caller({ rpm: 10 })
  const target = someTarget({ limits: { rpm: 3 } })
  t.equal(
    count(8, () => ask(who, target)),
    3,
  )
  t.equal(
    count(8, () => ask(who, someTarget({ model: 'model-two' }))),
    7,
  )
})

t.test("a refusal by the key's limit leaves the model's limit unchanged", async t => {
  const { ask } = setUp()
  const target = someTarget({ limits: { rpm: 5 } })
  t.equal(
    count(8, () => ask(caller({ rpm: 2 }), target)),
    2,
  )
  t.equal(
    count(8, () => ask(caller({ rpm: 10 }, { key: 'key_2' }), target)),
    3,
  )
})

t.test('only a request refused before the upstream was called releases what it took', async t => {
  const cases: readonly [string, Outcome, number][] = [
    ['refused, untouched', refused(), 5],
    ['refused by the upstream', refused('refused'), 4],
    ['refused, perhaps received', refused('unknown'), 4],
    ['answered', answered, 4],
    ['the caller left', { kind: 'cut', by: 'caller', status: undefined, reach: 'unknown' }, 4],
  ]
  for (const [name, outcome, left] of cases) {
    const { ask } = setUp()
    const who = caller({ rpm: 5 })
    ask(who, someTarget(), outcome)
    t.equal(
      count(10, () => ask(who)),
      left,
      name,
    )
  }
})

t.test('10,000 requests with every kind of failure leak nothing', async t => {
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  const { hooks, arrive, ask, clock } = setUp()
  const who = caller({ rpm: 100 })
  const target = someTarget({ limits: { rpm: 80 } })
  let consumed: number[] = []
  const open: RequestContext[] = []
  const settle = (at: number) => {
    const [context] = open.splice(at, 1)
    if (context) void hooks.onSettle?.(context, refused(), undefined)
  }
  for (let i = 0; i < 10_000; i++) {
    clock.move(random() * 40)
    const context = arrive(who)
    try {
      void hooks.onRequest?.(context)
      if (random() < 0.2) throw new Failure('other', { status: 400, type: '', text: '' }, 'by another plugin')
      void hooks.onAdmit?.(context, target, undefined)
      if (random() < 0.1) consumed.push(clock.tick())
      else open.push(context)
    } catch {
      void hooks.onSettle?.(context, refused(), undefined)
    }
    if (open.length > 0 && random() < 0.9) settle(Math.floor(random() * open.length))
  }
  while (open.length > 0) settle(0)
  consumed = consumed.filter(stamp => clock.tick() - stamp < minute)
  t.equal(
    count(200, () => ask(who, target)),
    80 - consumed.length,
  )
})

t.test("the body is not read if the key's limit is used up", async t => {
  const { hooks, arrive, ask } = setUp()
  const who = caller({ rpm: 1 })
  ask(who)
  t.match(await refusalOf(() => hooks.onRequest?.(arrive(who))), { status: 429, code: 'rate_limit_exceeded' })
})

t.test('peeking takes no slot', async t => {
  const { hooks, arrive, ask } = setUp()
  const who = caller({ rpm: 3 })
  for (let i = 0; i < 50; i++) void hooks.onRequest?.(arrive(who))
  t.equal(
    count(10, () => ask(who)),
    3,
  )
})

t.test('answers that need no upstream are not limited', async t => {
  const { hooks, arrive, ask } = setUp()
  const who = caller({ rpm: 1 })
  ask(who)
  const context = arrive(who, { serve: 'models' })
  t.doesNotThrow(() => void hooks.onRequest?.(context))
  t.same(context.limits, [])
})

t.test('a 429 names the limit, and when to retry', async t => {
  const { hooks, arrive, ask, clock } = setUp()
  const admit = (who: Caller, target: Target) => {
    const context = arrive(who)
    void hooks.onAdmit?.(context, target, undefined)
  }
  const who = caller({ rpm: 1 })
  ask(who)
  clock.move(14_400)
  const user = await refusalOf(() => admit(who, someTarget()))
  t.match(user, { status: 429, type: 'requests', code: 'rate_limit_exceeded', retryAfterMs: 45_600 })
  t.equal(user.message, 'Rate limit user_rpm reached: 1 requests in any 60 seconds. Try again in 46 s.')
  t.same(user.headers, { 'x-ratelimit-scope': 'user_rpm' })
  const scarce = someTarget({ model: 'model-two', limits: { rpm: 1 } })
  ask(caller({}, { key: 'key_2' }), scarce)
  const model = await refusalOf(() => admit(caller({ rpm: 9 }, { key: 'key_3' }), scarce))
  t.match(model.message, /^Rate limit model_rpm reached: 1 requests/)
  clock.move(1_000)
  const both = await refusalOf(() => admit(who, scarce))
  t.match(both.message, /^Rate limit model_rpm reached/, 'of two the one that takes longer')
  t.equal(both.retryAfterMs, 59_000)
})

t.test('every limited answer reports the tightest limit, also a 429', async t => {
  const { hooks, arrive, clock } = setUp()
  const who = caller({ rpm: 5 })
  const target = someTarget({ limits: { rpm: 3 } })
  const headers = (context: RequestContext) => Object.values(context.dialect.limitHeaders(context.limits, 0)).join(' ')
  const first = arrive(who)
  void hooks.onRequest?.(first)
  t.equal(headers(first), '5 5 0ms', 'before the model is known')
  void hooks.onAdmit?.(first, target, undefined)
  t.same(first.dialect.limitHeaders(first.limits, 0), {
    'x-ratelimit-limit-requests': '3',
    'x-ratelimit-remaining-requests': '2',
    'x-ratelimit-reset-requests': '1m0s',
  })
  clock.move(10_000)
  for (let i = 0; i < 2; i++) void hooks.onAdmit?.(arrive(who), target, undefined)
  const last = arrive(who)
  await refusalOf(() => hooks.onAdmit?.(last, target, undefined))
  t.equal(headers(last), '3 0 1m0s')
  clock.move(20_000)
  const later = arrive(who)
  void hooks.onRequest?.(later)
  t.equal(headers(later), '5 2 40s')
})

t.test('without a limit nothing is counted or reported', async t => {
  const { hooks, arrive } = setUp()
  const context = arrive(caller({}))
  void hooks.onRequest?.(context)
  void hooks.onAdmit?.(context, someTarget(), undefined)
  t.same(context.limits, [])
})

t.test('limits of a group count each key separately', async t => {
  const { ask } = setUp()
  for (const key of ['key_1', 'key_2'])
    t.equal(
      count(10, () => ask(caller({ rpm: 4 }, { key }))),
      4,
      caseName({ key }),
    )
})

t.test('limit_scope: user counts all keys of a user together', async t => {
  const { ask } = setUp()
  const of = (key: string, user: string) => caller({ rpm: 4 }, { key, user, scope: 'user' })
  t.equal(
    count(3, () => ask(of('key_1', 'ann'))),
    3,
  )
  t.equal(
    count(10, () => ask(of('key_2', 'ann'))),
    1,
  )
  t.equal(
    count(10, () => ask(of('key_3', 'bob'))),
    4,
  )
})

t.test("a key's own limit wins only if it is tighter than its group's", async t => {
  const { ask } = setUp()
  t.equal(
    count(10, () => ask(caller({ rpm: 5 }, { key: 'tighter', own: { rpm: 2 } }))),
    2,
  )
  t.equal(
    count(10, () => ask(caller({ rpm: 5 }, { key: 'looser', own: { rpm: 8 } }))),
    5,
  )
  t.equal(
    count(10, () => ask(caller({}, { key: 'alone', own: { rpm: 3 } }))),
    3,
  )
  t.equal(
    count(10, () => ask(caller({ rpm: 5 }, { key: 'shared', user: 'ann', scope: 'user', own: { rpm: 2 } }))),
    2,
  )
  t.equal(
    count(10, () => ask(caller({ rpm: 5 }, { key: 'other', user: 'ann', scope: 'user' }))),
    3,
  )
})

t.test("a model's limit counts all requests of the gateway, or each key's if configured", async t => {
  const { ask } = setUp()
  const [ann, bob] = [caller({}, { key: 'key_1' }), caller({}, { key: 'key_2' })]
  const shared = someTarget({ model: 'shared', limits: { rpm: 4 } })
  t.equal(
    count(3, () => ask(ann, shared)),
    3,
  )
  t.equal(
    count(3, () => ask(bob, shared)),
    1,
  )
  const each = someTarget({ model: 'each', limits: { rpm: 4, scope: 'key' } })
  for (const who of [ann, bob])
    t.equal(
      count(10, () => ask(who, each)),
      4,
      caseName({ who }),
    )
})

t.test('a reload does not reset a window, and a lowered limit applies at once', async t => {
  const host = someHost({ clock: new HandClock() })
  const before = setUp(host)
  t.equal(
    count(6, () => before.ask(caller({ rpm: 6 }))),
    6,
  )
  before.clock.move(20_000)
  void before.hooks.close?.()
  const after = setUp(host)
  const lowered = caller({ rpm: 4 })
  const failure = await refusalOf(() => after.hooks.onRequest?.(after.arrive(lowered)))
  t.equal(failure.retryAfterMs, 40_000)
  after.clock.move(40_000)
  t.equal(
    count(6, () => after.ask(lowered)),
    4,
  )
})

t.test('a request that began before a reload releases what it took', async t => {
  const host = someHost({ clock: new HandClock() })
  const before = setUp(host)
  const who = caller({ rpm: 2 })
  const context = before.arrive(who)
  void before.hooks.onAdmit?.(context, someTarget(), undefined)
  const after = setUp(host)
  void before.hooks.onSettle?.(context, refused(), undefined)
  t.equal(
    count(5, () => after.ask(who)),
    2,
  )
})

t.test('10,000 requests with tokens and slots and every outcome leak nothing [R8] [LIM-3]', async t => {
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  const { hooks, arrive, clock } = setUp()
  const who = caller({ rpm: 100_000, tpm: 1_000_000, concurrency: 40 })
  const target = withPlaces(someTarget({ limits: { rpm: 90_000 } }), 30)
  const reaches = ['untouched', 'unknown', 'refused', 'truncated', 'complete'] as const
  const open: RequestContext[] = []
  let refusals = 0
  for (let i = 0; i < 10_000; i++) {
    clock.move(random() * 40)
    const context = arrive(who)
    context.slots.put(tokenUseSlot, { estimate: 100, actual: () => Math.floor(random() * 300) })
    try {
      void hooks.onRequest?.(context)
      void hooks.onAdmit?.(context, target, undefined)
      if (random() < 0.8) void hooks.onForward?.(context, out, undefined, target)
      open.push(context)
    } catch {
      refusals++
      void hooks.onSettle?.(context, refused(), undefined)
    }
    if (open.length === 0 || random() < 0.02) continue
    const [ended] = open.splice(Math.floor(random() * open.length), 1)
    const reach = reaches[Math.floor(random() * reaches.length)] ?? 'complete'
    const outcome: Outcome = random() < 0.5 ? refused(reach) : { kind: 'cut', by: 'caller', status: 200, reach }
    if (ended) void hooks.onSettle?.(ended, outcome, undefined)
  }
  t.ok(refusals > 0, `${refusals} were refused`)
  for (const context of open) void hooks.onSettle?.(context, answered, undefined)
  clock.move(minute)
  const admitted: RequestContext[] = []
  t.equal(
    count(100, () => {
      const context = arrive(who)
      try {
        void hooks.onAdmit?.(context, target, undefined)
      } catch {
        return false
      }
      admitted.push(context)
      return true
    }),
    30,
    'every place is free',
  )
  t.match(admitted.at(-1)?.limits, [
    { kind: 'requests', limit: 90_000, remaining: 90_000 - 30 },
    { kind: 'tokens', limit: 1_000_000, remaining: 1_000_000 },
  ])
})

t.test('tokens: the tightest limit refuses, and a request refused for a slot takes no tokens [R6]', async t => {
  const { hooks, arrive } = setUp()
  const who = caller({ rpm: 10, tpm: 1_000 }, { own: { tpm: 500, concurrency: 1 } })
  const target = someTarget()
  const ask = (estimate: number): RequestContext => {
    const context = arrive(who)
    context.slots.put(tokenUseSlot, { estimate, actual: () => 0 })
    void hooks.onAdmit?.(context, target, undefined)
    return context
  }
  t.match(await refusalOf(() => ask(501)), { status: 400, code: 'tokens_over_limit', retry: false })
  const first = ask(400)
  t.match(first.limits, [
    { kind: 'requests', limit: 10, remaining: 9 },
    { kind: 'tokens', limit: 500, remaining: 100 },
  ])
  const failure = await refusalOf(() => ask(50))
  t.match(failure, { retryAfterMs: 1_000, headers: { 'x-ratelimit-scope': 'key_concurrency' } })
  void hooks.onSettle?.(first, answered, undefined)
  t.match(ask(500).limits[1], { remaining: 0 }, 'the unused part is free at once')
})

t.test('a full upstream is skipped only while the model has another', async t => {
  const { hooks, arrive } = setUp()
  const who = caller({ rpm: 100 })
  const one = withPlaces(someTarget(), 1, 'one')
  const two = withPlaces(one, 1, 'two')
  const both = { ...one, model: { ...one.model, upstreams: [...one.model.upstreams, ...two.model.upstreams] } }
  const admit = (target: Target): RequestContext => {
    const context = arrive(who)
    void hooks.onAdmit?.(context, target, undefined)
    return context
  }
  const first = admit(both)
  void hooks.onForward?.(first, out, undefined, both)
  const second = admit(both)
  t.match(await refusalOf(() => hooks.onForward?.(second, out, undefined, both)), { elsewhere: true, status: 429 })
  void hooks.onForward?.(second, out, undefined, two)
  t.match(await refusalOf(() => admit(one)), {
    elsewhere: true,
    headers: { 'x-ratelimit-scope': 'upstream_concurrency' },
  })
  // The first upstream refused: its place is free before the next upstream is called.
  void hooks.onSettle?.(second, answered, undefined)
  void hooks.onForward?.(first, out, undefined, two)
  void hooks.onSettle?.(admit(one), answered, undefined)
  void hooks.onSettle?.(first, answered, undefined)
  for (const target of [one, two]) void hooks.onSettle?.(admit(target), answered, undefined)
})

t.test('more keys do not raise limits: all keys of a user, and all of a group, share theirs', async t => {
  const { ask } = setUp()
  const group = someGroup({ name: 'team', limits: { rpm: 5 }, limitsPerUser: { rpm: 7 }, limitsInAll: { rpm: 10 } })
  const by = (user: string, id: string) => ask({ key: someKey({ id, user }), group })
  t.equal(
    count(8, () => by('anna', 'key_1')),
    5,
    'a key by itself has what each key has',
  )
  t.equal(
    count(8, () => by('anna', 'key_2')),
    2,
    'with a second one its user has seven',
  )
  t.equal(
    count(8, () => by('ben', 'key_3')),
    3,
    'and all users of the group ten',
  )
  t.equal(
    count(8, () => by('cleo', 'key_4')),
    0,
  )
})

t.test('slots and tokens of a user and of a group are shared too, and released at the end', async t => {
  const { hooks, arrive } = setUp()
  const group = someGroup({ limitsPerUser: { concurrency: 2 }, limitsInAll: { concurrency: 3, tpm: 100 } })
  const enter = (user: string, id: string, estimate = 1) => {
    const context = arrive({ key: someKey({ id, user }), group })
    context.slots.put(tokenUseSlot, { estimate, actual: () => estimate })
    void hooks.onAdmit?.(context, someTarget(), undefined)
    return context
  }
  const refused = (run: () => unknown): Failure | undefined => {
    try {
      run()
      return undefined
    } catch (failure) {
      return failure as Failure
    }
  }
  const first = enter('anna', 'key_1')
  enter('anna', 'key_2')
  t.match(
    refused(() => enter('anna', 'key_3')),
    {
      message:
        'Rate limit all_keys_concurrency reached: 2 concurrent requests shared by all keys of user anna. Try again in 1 s.',
      headers: { 'x-ratelimit-scope': 'all_keys_concurrency' },
    },
  )
  enter('ben', 'key_4')
  t.match(
    refused(() => enter('cleo', 'key_5')),
    { message: /group_concurrency reached: 3 concurrent requests shared by all keys of group default/ },
  )
  void hooks.onSettle?.(first, answered, undefined)
  t.match(
    refused(() => enter('anna', 'key_3', 98)),
    { message: /group_tpm reached: 100 tokens in any 60 seconds shared by all keys of group default/ },
  )
  t.equal(
    refused(() => enter('anna', 'key_3', 97)),
    undefined,
  )
})

t.test('headers report the tightest limit, and a user with own limits is counted with their keys', async t => {
  const { hooks, arrive } = setUp()
  const group = someGroup({ limits: { rpm: 50 }, limitsPerUser: { rpm: 9 }, limitsInAll: { rpm: 20 } })
  const context = arrive({ key: someKey({ id: 'key_1', user: 'anna' }), group })
  void hooks.onAdmit?.(context, someTarget(), undefined)
  t.match(context.limits, [{ kind: 'requests', limit: 9, remaining: 8 }])
  const owners = userLimits({ key: someKey({ id: 'key_1', user: 'anna' }), group }).map(({ owner }) => owner)
  t.same(
    owners,
    ['user anna', 'user anna', 'group default'],
    'a cluster decides about the user in one step, and then asks the group',
  )
})
