import t from 'tap'
import { CircuitBreaker } from '../../src/engine/circuit-breaker.ts'
import { orderCandidates } from '../../src/engine/order-candidates.ts'
import type { Candidate, Upstream } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, seeded } from '../harness/seed.ts'

function candidate(name: string, weight = 1, priority = 1, cooldown = { failures: 3, forMs: 1_000 }): Candidate {
  const upstream: Upstream = {
    name,
    url: 'http://127.0.0.1',
    credential: [],
    query: {},
    headers: {},
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1, afterLeaveMs: 1 },
    answerBytesMax: 1,
    reuse: undefined,
    cooldown,
  }
  return { upstream, weight, priority, sendAs: name }
}

const names = (order: readonly Candidate[]): string[] => order.map(({ upstream }) => upstream.name)
const open = (): boolean => true

t.test('the upstreams of the lowest priority number come first, whatever their weights', async t => {
  const candidates = [candidate('late', 1_000, 2), candidate('early', 0.001, 1), candidate('last', 9, 3)]
  const random = seeded(1)
  for (let i = 0; i < 100; i++)
    t.strictSame(names(orderCandidates(candidates, open, random)), ['early', 'late', 'last'], caseName({ i }))
})

t.test('among equals the first is drawn by weight, and the rest follow by theirs', async t => {
  const random = seeded(seed)
  const candidates = [candidate('a', 1), candidate('b', 2), candidate('c', 7)]
  const firsts = { a: 0, b: 0, c: 0 }
  const seconds = { a: 0, b: 0 }
  const draws = 20_000
  for (let i = 0; i < draws; i++) {
    const [first = '', second = ''] = names(orderCandidates(candidates, open, random))
    firsts[first as 'a']++
    if (first === 'c') seconds[second as 'a']++
  }
  t.comment(`seed ${seed}: ${JSON.stringify(firsts)}`)
  for (const [name, share] of [
    ['a', 0.1],
    ['b', 0.2],
    ['c', 0.7],
  ] as const)
    t.ok(Math.abs(firsts[name] / draws - share) < 0.02, `${name} takes ${share}`)
  t.ok(Math.abs(seconds.a / firsts.c - 1 / 3) < 0.03, 'behind c, a takes a third')
})

t.test('a paused upstream comes last, even before one of a better priority', async t => {
  const candidates = [candidate('best', 1, 1), candidate('spare', 1, 2), candidate('closed too', 1, 1)]
  const order = orderCandidates(candidates, ({ upstream }) => upstream.name === 'spare', seeded(1))
  t.equal(names(order)[0], 'spare')
  t.equal(order.length, 3, 'but it is still there: a slim chance is better than none')
})

t.test('a single upstream needs no draw', async t => {
  const only = [candidate('only')]
  t.equal(
    orderCandidates(
      only,
      () => false,
      () => t.fail('drawn') as never,
    ),
    only,
  )
})

t.test('a circuit breaker opens after consecutive failures, lets one request try, and closes on success', async t => {
  const breaker = new CircuitBreaker()
  const { upstream } = candidate('one')
  breaker.failed(upstream, 0)
  breaker.failed(upstream, 0)
  t.ok(breaker.admits(upstream, 1), 'two of three')
  breaker.succeeded(upstream)
  breaker.failed(upstream, 0)
  breaker.failed(upstream, 0)
  t.ok(breaker.admits(upstream, 1), 'a success in between begins the count anew')
  breaker.failed(upstream, 10)
  t.notOk(breaker.admits(upstream, 1_009))
  t.equal(breaker.countOpen(1_009), 1)
  t.ok(breaker.admits(upstream, 1_010), 'the time is over')
  t.equal(breaker.countOpen(1_010), 0)
  breaker.began(upstream, 1_010)
  t.notOk(breaker.admits(upstream, 1_010), 'and one request alone tries')
  breaker.failed(upstream, 1_100)
  t.notOk(breaker.admits(upstream, 2_099), 'its failure opens it for as long once more')
  breaker.began(upstream, 2_100)
  breaker.undecided(upstream)
  t.ok(breaker.admits(upstream, 2_100), 'a trial whose client left has no result: the next request tries')
  breaker.began(upstream, 2_100)
  breaker.succeeded(upstream)
  t.ok(breaker.admits(upstream, 2_101))
  t.ok(breaker.admits(upstream, 2_101), 'for everybody')
})

t.test('an upstream that reports a time is paused for it, at most a minute', async t => {
  for (const [retryMs, rest] of [
    [5_000, 5_000],
    [600_000, 60_000],
  ] as const) {
    const breaker = new CircuitBreaker()
    const { upstream } = candidate('one')
    breaker.failed(upstream, 0, retryMs)
    t.notOk(breaker.admits(upstream, rest - 1), `${retryMs} ms asked, after the first failure`)
    t.ok(breaker.admits(upstream, rest), caseName({ retryMs, rest }))
  }
})
