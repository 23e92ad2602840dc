import t from 'tap'
import type { FeedEvent, TrailRow } from '../../src/index.ts'
import { HandTime } from '../harness/hand-time.ts'
import { badKey, type Keyed, startKeyed } from '../harness/vendor-keys.ts'
import { enterAsAdmin, type Visitor } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const pathOf = (key: string, what: string): string => `/api/upstreams/text/keys/${key}/${what}`
const kindsOf = async ({ gateway }: Keyed): Promise<readonly FeedEvent['kind'][]> =>
  (await gateway.storage.events.after(0, 100)).map(({ kind }) => kind).filter(kind => kind.startsWith('upstream.'))
const trailOf = ({ gateway }: Keyed): Promise<readonly TrailRow[]> =>
  Promise.resolve(gateway.storage.trail.list({ action: 'upstream_key', limit: 10 }))

async function stateOf(admin: Visitor, name: string): Promise<unknown> {
  const { upstreams } = (await admin.get('/api/upstreams')).body as {
    upstreams: { name: string; keys: { name: string }[] }[]
  }
  return upstreams.find(one => one.name === 'text')?.keys.find(key => key.name === name)
}

t.test('an administrator suspends a key, optionally for a time, and resumes it, in the audit trail', async t => {
  const clock = new HandTime()
  const started = await startKeyed(t, { clock: { now: clock.now, tick: clock.tick } })
  const admin = await enterAsAdmin(started, clock)
  const suspended = await admin.post(pathOf('first', 'suspend'), { reason: 'over its bill', for_seconds: 60 })
  t.match(suspended.body, {
    name: 'first',
    state: 'suspended',
    reason: 'operator',
    note: 'over its bill',
    code: null,
    asked: false,
    until: '2026-11-20T12:01:00.000Z',
  })
  for (let i = 0; i < 6; i++) t.equal(await started.chat(), 200, caseName({ i }))
  t.equal(started.callsOf('one'), 0, 'it is not used')
  await started.gateway.storage.flush()
  clock.pass(60_000)
  t.match(await stateOf(admin, 'first'), { state: 'active', asked: true }, 'its time is over')
  for (let i = 0; i < 60 && started.callsOf('one') === 0; i++) await started.chat()
  t.ok(started.callsOf('one') > 0)

  t.equal((await admin.post(pathOf('second', 'suspend'), { reason: 'a new one comes' })).status, 200)
  t.equal((await admin.post(pathOf('first', 'suspend'), { reason: 'a new one comes' })).status, 200)
  const refused = await started.post('/v1/chat/completions', { model: 'sim-chat', messages: [] })
  t.equal(refused.status, 502, 'none is left')
  t.match(await refused.json(), { error: { code: 'upstream_credentials' } })
  t.match((await admin.post(pathOf('first', 'resume'))).body, { state: 'active', reason: null, note: null })
  t.equal(await started.chat(), 200)
  const kinds = await kindsOf(started)
  // The gateway reports the end of a suspension at its next check.
  t.same(
    kinds.filter(kind => kind !== 'upstream.key_resumed'),
    [...Array<string>(3).fill('upstream.key_suspended'), 'upstream.exhausted'],
  )
  t.equal(kinds.at(-1), 'upstream.key_resumed')
  t.match(await trailOf(started), [
    { actor: 'root', action: 'upstream_key.resume', subject: 'text/first' },
    { action: 'upstream_key.suspend', subject: 'text/first', reason: 'a new one comes' },
    { action: 'upstream_key.suspend', subject: 'text/second' },
    { actor: 'root', action: 'upstream_key.suspend', subject: 'text/first', reason: 'over its bill' },
  ])
  for (const [path, body, status] of [
    [pathOf('third', 'suspend'), { reason: 'a test' }, 404],
    ['/api/upstreams/alpha/keys/first/suspend', { reason: 'a test' }, 404],
    [pathOf('first', 'suspend'), {}, 400],
    [pathOf('first', 'suspend'), { reason: 'a test', for_seconds: 0 }, 400],
  ] as const)
    t.equal((await admin.post(path, body)).status, status, path)
})

t.test('a free probe reports its answer, costs nothing, and restores a refused key', async t => {
  const started = await startKeyed(t)
  const admin = await enterAsAdmin(started)
  started.refused.set('one', badKey)
  for (let i = 0; i < 60 && started.callsOf('one') === 0; i++) await started.chat()
  const before = (await started.charges(200)).length
  const bad = await admin.post(pathOf('first', 'test'))
  t.match(bad.body, {
    result: 'bad',
    answer: '401 invalid_api_key',
    path: '/v1/models',
    cost: '0.00',
    currency: 'USD',
    key: { state: 'suspended', reason: 'invalid' },
  })
  started.refused.set('one', [404, {}])
  t.match((await admin.post(pathOf('first', 'test'))).body, { result: 'unclear', key: { state: 'suspended' } })
  started.refused.clear()
  t.match((await admin.post(pathOf('first', 'test'))).body, { result: 'good', answer: '200', key: { state: 'active' } })
  t.equal(started.callsOf('one', 'GET'), 3)
  t.equal((await started.charges(200)).length, before, 'nothing was bought')
  t.match(await trailOf(started), [{ action: 'upstream_key.resume', reason: 'a free test request succeeded' }])
  await admin.post(pathOf('first', 'suspend'), { reason: 'a rest' })
  t.match(
    (await admin.post(pathOf('first', 'test'))).body,
    { result: 'good', key: { state: 'suspended' } },
    'what a person has said stays',
  )
})

t.test('commands next to a running gateway do the same, and it applies them', async t => {
  const started = await startKeyed(t)
  const { tollgate, callsOf, chat } = started
  const admin = await enterAsAdmin(started)
  t.match(await tollgate('upstreams', 'suspend', 'text', 'first', '--reason', 'over its bill', '--for', '2h'), {
    code: 0,
    stderr: /Suspended key \S+ of \S+ until 20/,
  })
  const listed = await tollgate('upstreams', 'list', '--format', 'json')
  t.notMatch(listed.stdout, 'vendor-secret')
  const all = listed.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { name: string })
  t.match(
    all.find(({ name }) => name === 'text'),
    {
      keys_asked: 1,
      keys: [
        { name: 'first', hint: '…-one', state: 'suspended', reason: 'operator', note: 'over its bill', asked: false },
        { name: 'second', state: 'active', asked: true },
      ],
    },
  )
  t.match(await stateOf(admin, 'first'), { state: 'suspended', note: 'over its bill' })
  t.match(await tollgate('upstreams', 'list'), {
    stdout: /^text +first …-one +suspended +suspended by an operator: over its bill, since .+, until 20.+$/m,
  })
  for (let i = 0; i < 8; i++) t.equal(await chat(), 200, caseName({ i }))
  t.equal(callsOf('one'), 0, 'the gateway has taken it over')
  t.match(await tollgate('upstreams', 'suspend', 'text', 'second', '--reason', 'x'), {
    code: 0,
    stderr: /text has no usable key left/,
  })
  t.match(await tollgate('upstreams', 'resume', 'text', 'first'), { code: 0, stderr: /Resumed key/ })
  started.refused.set('two', badKey)
  const tested = await tollgate('upstreams', 'test', 'text')
  t.equal(tested.code, 1)
  t.match(tested.stdout, /^valid +text +first +GET \/v1\/models +200 .*\nREFUSED +text +second .* 401 invalid_api_key/)
  t.match(tested.stderr, /free test requests?: 0\.00 USD/)
  t.match(await trailOf(started), [
    { actor: 'command line', action: 'upstream_key.resume', subject: 'text/first' },
    { action: 'upstream_key.suspend', subject: 'text/second', reason: 'x' },
    { action: 'upstream_key.suspend', subject: 'text/first', reason: 'over its bill' },
  ])
  for (const [args, code] of [
    [['suspend', 'text', 'first'], 2],
    [['suspend', 'alpha', 'first', '--reason', 'x'], 2],
    [['test', 'text', 'none'], 2],
  ] as const)
    t.equal((await tollgate('upstreams', ...args)).code, code, args.join(' '))
})
