import t, { type Test } from 'tap'
import { systemTimers } from '../../src/util/clock.ts'
import { type BareEngine, type BareOptions, modelName, patient, startEngine } from '../harness/engine.ts'
import type { Reaction, Upstream } from '../harness/upstream.ts'
import { fail } from '../../src/engine/errors.ts'
import type { Outcome } from '../../src/plugin-api/index.ts'
import { caseName } from '../harness/case-name.ts'

/** Refuses, like an overloaded upstream. */
function refuse(status: number, headers: Record<string, string> = {}): Reaction {
  return res => void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{"error":{}}')
}

/** No process can listen on port 1. A port that was free a moment ago may belong to another test by now. */
const deadUrl = 'http://127.0.0.1:1'

/** Two upstreams: the first has the higher priority. */
async function startPair(
  t: Test,
  options: BareOptions = {},
): Promise<BareEngine & { readonly first: Upstream; readonly second: Upstream }> {
  const [own = {}] = options.upstreams ?? []
  const bare = await startEngine(t, { ...options, upstreams: [own, { priority: 2 }] })
  const [first, second] = bare.upstreams as [Upstream, Upstream]
  second.answer({ from: 'second' })
  return { ...bare, first, second }
}

t.test('requests go to the upstream of the first priority, distributed by weight among equals', async t => {
  const { post, upstreams } = await startEngine(t, {
    upstreams: [{ weight: 3 }, { weight: 1 }, { priority: 2, weight: 100 }],
  })
  for (let i = 0; i < 200; i++) await (await post()).text()
  const counts = upstreams.map(upstream => upstream.received.length)
  t.comment(`of 200, by weights 3 and 1: ${counts.join(', ')}`)
  t.equal(counts[2], 0, 'the spare is not called')
  // Six standard deviations of a fair draw.
  t.ok(Math.abs((counts[0] as number) - 150) < 37, String(counts))
})

t.test(
  '429, 503 and 529 before a body are refusals: the next upstream is called, and the client sees its answer',
  async t => {
    const { post, first, second, rows, settled } = await startPair(t, {
      upstreams: [{ cooldown: { failures: 1_000, forMs: 1 } }],
    })
    for (const [i, status] of [429, 503, 529].entries()) {
      first.answerOnce(refuse(status))
      const answer = await post()
      t.equal(answer.status, 200, String(status))
      t.strictSame(await answer.json(), { from: 'second' }, caseName({ i, status }))
      await settled()
      t.match(rows[i], { upstream: 'upstream-1', status: 200, outcome: 'answered' }, 'the log names who answered')
      t.match(rows[i], { marks: { asked: Number, askedAgain: Number } }, 'and has the time of each call')
    }
    t.equal(first.received.length, 3)
    t.equal(second.received.length, 3)
  },
)

t.test('an unreachable upstream is skipped, and the log names the one that answered', async t => {
  const { post, second, rows, settled } = await startPair(t, { upstreams: [{ url: deadUrl }] })
  const answer = await post()
  t.equal(answer.status, 200)
  t.strictSame(await answer.json(), { from: 'second' })
  await settled()
  t.match(rows, [{ upstream: 'upstream-1', errorCode: null }])
  t.equal(second.received.length, 1)
})

t.test('a request that one upstream refused counts as sent, even if the next cannot be reached', async t => {
  const outcomes: Outcome[] = []
  const { post, upstreams, settled } = await startEngine(t, {
    upstreams: [{}, { priority: 2, url: deadUrl }],
    hooks: { onSettle: (_context, outcome) => void outcomes.push(outcome) },
  })
  upstreams[0]?.answer(refuse(429))
  const answer = await post()
  t.equal(answer.status, 502)
  t.match(await answer.json(), { error: { code: 'upstream_unreachable' } })
  await settled()
  t.match(outcomes, [{ kind: 'refused', reach: 'refused' }], 'limits keep its place')
})

t.test('a request that one upstream refused is refused, even if the next has no room and is not called', async t => {
  const outcomes: Outcome[] = []
  const { post, upstreams, rows, settled } = await startEngine(t, {
    upstreams: [{}, { priority: 2 }],
    hooks: {
      onForward(_context, out, _facet, { upstream }) {
        if (upstream.name === 'upstream-1') throw fail('over_capacity', {}, { elsewhere: true })
        return out
      },
      onSettle: (_context, outcome) => void outcomes.push(outcome),
    },
  })
  upstreams[0]?.answer(refuse(429))
  await (await post()).text()
  await settled()
  t.equal(upstreams[1]?.received.length, 0)
  t.match(outcomes, [{ kind: 'refused', reach: 'refused' }], 'no review is needed')
  t.match(rows, [{ upstream: 'upstream-0' }], 'the log names the upstreams called')
})

t.test('each upstream gets its own model name and its own key', async t => {
  const { post, upstreams } = await startEngine(t, {
    upstreams: [
      { sendAs: 'name-at-first', credential: [{ kind: 'header', header: 'authorization', value: 'Bearer first' }] },
      { sendAs: 'name-at-second', priority: 2, credential: [{ kind: 'header', header: 'x-api-key', value: 'second' }] },
    ],
  })
  upstreams[0]?.answer(refuse(503))
  t.equal((await post('/v1/chat/completions', {}, { model: modelName, more: [1, { a: '…' }] })).status, 200)
  const [[first], [again]] = upstreams.map(upstream => upstream.received) as unknown as [
    Upstream['received'],
    Upstream['received'],
  ]
  t.match(first?.json(), { model: 'name-at-first', more: [1, { a: '…' }] })
  t.match(again?.json(), { model: 'name-at-second', more: [1, { a: '…' }] })
  t.equal(first?.headers['authorization'], 'Bearer first')
  t.equal(again?.headers['authorization'], undefined, 'a key goes to its own upstream alone')
  t.equal(again?.headers['x-api-key'], 'second')
})

t.test('a request that an upstream may have accepted is never sent to another [B14, U10]', async t => {
  const kinds: { readonly [what: string]: Reaction } = {
    'a reset after the request': (_res, _received, req) => void req.socket.resetAndDestroy(),
    'an end after the request': (_res, _received, req) => void req.socket.end(),
    'silence until the deadline': () => undefined,
    'half an answer': res => {
      res.writeHead(200, { 'content-length': '100' }).write('{"data":[')
      setTimeout(() => res.destroy(), 20)
    },
    '500': refuse(500),
    '502': refuse(502),
    '504': refuse(504),
    '400': refuse(400),
    '401': refuse(401),
    '408': refuse(408),
    nonsense: res => void res.socket?.end('nonsense\r\n\r\n'),
    'a redirect': refuse(302, { location: 'http://127.0.0.1/' }),
  }
  let duplicates = 0
  for (const path of ['/v1/once', '/v1/chat/completions']) {
    const { post, first, second, settled } = await startPair(t, {
      upstreams: [{ timeouts: { ...patient, firstByteMs: 300 }, cooldown: { failures: 1_000, forMs: 1 } }],
    })
    for (const [what, reaction] of Object.entries(kinds)) {
      first.answerOnce(reaction)
      const before = first.received.length
      const whole = await post(path)
        .then(async answer => (await answer.text(), answer.ok))
        .catch(() => false)
      await settled()
      t.notOk(whole, `${path}: ${what} is not a success`)
      duplicates += second.received.length + first.received.length - before - 1
    }
    t.equal(second.received.length, 0, `${path}: the other upstream was never asked`)
  }
  t.comment(`duplicates = ${duplicates} of ${Object.keys(kinds).length * 2}`)
  t.equal(duplicates, 0)
})

t.test('if all refuse, the client gets the last refusal with its Retry-After', async t => {
  const { post, first, second, rows, settled } = await startPair(t)
  first.answer(refuse(503, { 'retry-after': '70' }))
  second.answer(refuse(429, { 'retry-after': '7' }))
  const answer = await post()
  t.equal(answer.status, 429)
  t.equal(answer.headers.get('retry-after'), '7')
  t.equal(await answer.text(), '{"error":{}}')
  await settled()
  t.match(rows, [{ upstream: 'upstream-1', status: 429 }])
})

t.test('an upstream with consecutive failures is paused until one request has tried it', async t => {
  let tick = 0
  const { post, first, second } = await startPair(t, {
    upstreams: [{ cooldown: { failures: 2, forMs: 5_000 } }],
    clock: { now: () => 1_800_000_000_000 + tick, tick: () => tick },
  })
  const ask = async (): Promise<number> => {
    const answer = await post()
    await answer.text()
    return answer.status
  }
  first.answer(refuse(503))
  t.strictSame([await ask(), await ask(), await ask(), await ask()], [200, 200, 200, 200])
  t.equal(first.received.length, 2, 'after two failures it is not called')
  tick = 4_999
  await ask()
  t.equal(first.received.length, 2)
  tick = 5_000
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  first.answerOnce(async res => {
    arrive()
    await held
    res.end('{}')
  })
  const trial = ask()
  await arrived
  t.strictSame([await ask(), await ask()], [200, 200])
  t.equal(first.received.length, 3, 'one tries; the others do not wait for it')
  release()
  t.equal(await trial, 200)
  const before = second.received.length
  first.answer({ from: 'first' })
  t.equal(await ask(), 200)
  t.equal(first.received.length, 4, 'it is open again')
  t.equal(second.received.length, before)
})

t.test('respects the Retry-After of a refusal, in seconds or as a date', async t => {
  let tick = 0
  const start = 1_800_000_000_000
  const { post, first } = await startPair(t, {
    upstreams: [{ cooldown: { failures: 1_000, forMs: 1 } }],
    clock: { now: () => start + tick, tick: () => tick },
  })
  for (const value of ['20', new Date(start + 120_000).toUTCString()]) {
    const calls = first.received.length
    const from = tick
    first.answerOnce(refuse(429, { 'retry-after': value }))
    const ask = async (): Promise<void> => void (await (await post()).text())
    await ask()
    tick = from + 19_000
    await ask()
    t.equal(first.received.length, calls + 1, `${value}: not before`)
    tick = from + 60_000
    await ask()
    t.equal(first.received.length, calls + 2, `${value}: after it, or after a minute`)
    tick = 60_000
  }
})

t.test('a single upstream is called, however often it has failed', async t => {
  const { post, upstreams } = await startEngine(t, { upstreams: [{ cooldown: { failures: 1, forMs: 60_000 } }] })
  upstreams[0]?.answer(refuse(503, { 'retry-after': '60' }))
  for (let i = 0; i < 3; i++) t.equal((await post()).status, 503, caseName({ i }))
  t.equal(upstreams[0]?.received.length, 3)
})

t.test("a client that leaves during the first upstream's wait causes no second call", async t => {
  const { url, first, second, settled, rows } = await startPair(t)
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  first.answer(() => arrive())
  const leaving = new AbortController()
  const pending = fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: modelName }),
    signal: leaving.signal,
  })
  await arrived
  leaving.abort()
  await t.rejects(pending)
  await settled()
  t.match(rows, [{ outcome: 'caller_gone', upstream: 'upstream-0' }])
  t.equal(second.received.length, 0)
})

t.test('a client that leaves before the first event of a trial does not block further trials', async t => {
  let tick = 0
  let hear: (() => void) | undefined
  const { url, post, first, second, settled } = await startPair(t, {
    upstreams: [{ cooldown: { failures: 1, forMs: 5_000 } }],
    clock: {
      now: () => 1_800_000_000_000 + tick,
      tick: () => tick,
      // The wait for a first event has begun.
      after(ms, run) {
        if (ms === 1_000) hear?.()
        return systemTimers.after(ms, run)
      },
    },
  })
  first.answerOnce(refuse(503))
  await (await post()).text()
  tick = 5_000
  const { promise: heard, resolve } = Promise.withResolvers<void>()
  hear = resolve
  first.answerOnce(res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  const leaving = new AbortController()
  const pending = fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: modelName }),
    signal: leaving.signal,
  })
  await heard
  leaving.abort()
  await t.rejects(pending)
  await settled()
  first.answer({ from: 'first' })
  t.strictSame(await (await post()).json(), { from: 'first' })
  t.equal(second.received.length, 1, 'when the first was paused')
})
