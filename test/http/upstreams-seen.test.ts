import t from 'tap'
import type { UpstreamKeyShown } from '../../src/index.ts'
import { HandTime } from '../harness/hand-time.ts'
import { badKey, type Keyed, startKeyed } from '../harness/vendor-keys.ts'
import { enterAsAdmin, enterAsUser, passwordOfTests, type Visitor } from '../harness/visitor.ts'

type Upstreams = {
  readonly currency: string
  readonly upstreams: readonly {
    readonly name: string
    readonly healthy: boolean
    readonly models: readonly string[]
    readonly keys_asked: number | null
    readonly keys: readonly UpstreamKeyShown[]
  }[]
}

async function readUpstreams(visitor: Visitor): Promise<Upstreams['upstreams']> {
  const { status, body, text } = await visitor.get('/api/upstreams')
  if (status !== 200) throw new Error(text)
  return (body as Upstreams).upstreams
}

const keysOf = async (visitor: Visitor) =>
  (await readUpstreams(visitor)).find(({ name }) => name === 'text')?.keys ?? []

/** Sends requests until a key has received this many. */
async function chatUntil({ chat }: Keyed, isDone: () => boolean): Promise<void> {
  for (let i = 0; i < 60 && !isDone(); i++) await chat()
}

t.test('the API reports the status of each upstream key, and never its secret', async t => {
  const clock = new HandTime()
  const keys = [
    'bare: { value: "vendor-secret-of-alpha-one", weight: 3 }',
    'bounded: { value: "vendor-secret-of-alpha-two", models: [sim-*], rpm: 500, budget: { amount: "100", per: month } }',
    'short: { value: "tiny-three", weight: 0 }',
  ]
  const started = await startKeyed(t, { keys: keys.join(', '), clock: { now: clock.now, tick: clock.tick } })
  const admin = await enterAsAdmin(started, clock)
  t.match(await readUpstreams(admin), [
    { name: 'alpha', healthy: true, keys_asked: 1, keys: [{ name: 'credential' }], models: ['alpha-image-2'] },
    { name: 'beta', keys: [{ name: 'credential', weight: 1, serves: null }] },
    { name: 'text', healthy: true, keys_asked: 2, simulated: false },
  ])
  const quiet = { state: 'active', reason: null, code: null, note: null, since: null, until: null, resting: [] }
  t.match(await keysOf(admin), [
    { ...quiet, name: 'bare', hint: '…-one', asked: true, weight: 3, serves: null, budget: null, requests: 0 },
    {
      name: 'bounded',
      serves: ['sim-*'],
      limits: { rpm: 500, tpm: null, concurrency: null },
      budget: { amount: '100.00', per: 'month', spent: '0.00', renews: '2026-12-01T00:00:00.000Z' },
    },
    { name: 'short', hint: '', asked: false, weight: 0 },
  ])
  started.refused.set('one', badKey)
  await chatUntil(started, () => started.callsOf('one') === 1 && started.callsOf('two') > 2)
  const { text } = await admin.get('/api/upstreams')
  t.notMatch(text, 'vendor-secret')
  t.match(await keysOf(admin), [
    {
      state: 'suspended',
      asked: false,
      reason: 'invalid',
      code: '401 invalid_api_key',
      since: '2026-11-20T12:00:00.000Z',
      until: '2026-11-20T12:01:00.000Z',
      requests: 1,
      lately: { answered: 0, invalid: 1 },
    },
    { state: 'active', asked: true, requests: started.callsOf('two'), lately: { answered: started.callsOf('two') } },
    {},
  ])
  t.match((await readUpstreams(admin)).at(-1), { keys_asked: 1 })
  t.match((await keysOf(admin))[1]?.budget, { spent: /^0\.0*[1-9]/ }, 'charges of its requests')
})

t.test('recent outcomes cover the last hour, and all have names', async t => {
  const clock = new HandTime()
  const started = await startKeyed(t, {
    keys: 'only: { value: "vendor-secret-of-alpha-one" }',
    clock: { now: clock.now, tick: clock.tick },
  })
  const admin = await enterAsAdmin(started, clock)
  const answers: readonly (readonly [string, number, object])[] = [
    ['refused', 400, { error: { code: 'bad' } }],
    ['unable', 503, { error: { type: 'overloaded_error' } }],
    ['unknown', 500, { error: { code: 'server_error' } }],
    ['model', 404, { error: { code: 'model_not_found' } }],
    ['limited', 429, {}],
  ]
  for (const [, status, body] of answers) {
    started.refused.set('one', [status, body])
    await started.chat()
  }
  const [key] = await keysOf(admin)
  for (const [outcome] of answers) t.equal(key?.lately[outcome as 'refused'], 1, outcome)
  t.match(key, { state: 'active', asked: true }, 'one request alone may be the reason for its limit')
  await started.chat('Another question')
  t.match(await keysOf(admin), [{ state: 'cooling', reason: 'limited', code: '429', asked: false }])
  await started.gateway.storage.flush()
  clock.pass(16_000)
  t.match(await keysOf(admin), [{ state: 'active', asked: true }], 'its time is over')
  await started.gateway.storage.flush()
  clock.pass(3_600_000)
  await admin.post('/api/session', { name: 'root', password: passwordOfTests })
  t.match((await keysOf(admin))[0], { requests: 6, lately: { refused: 0, limited: 0 } })
})

t.test('viewers see it, and billing does not', async t => {
  const started = await startKeyed(t)
  const admin = await enterAsAdmin(started)
  for (const [role, status] of [
    ['viewer', 200],
    ['billing', 403],
    ['user', 403],
  ] as const)
    t.equal((await (await enterAsUser(started, admin, role, role)).get('/api/upstreams')).status, status, role)
})
