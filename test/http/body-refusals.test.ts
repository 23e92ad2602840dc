import t, { type Test } from 'tap'
import { bodyRefusals, type BodyRefusal } from '../cases/vendor-refusals.ts'
import { caseName } from '../harness/case-name.ts'
import { HandTime } from '../harness/hand-time.ts'
import { start } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'
import { chatAnswer, keyedEdit } from '../harness/vendor-keys.ts'

const chat = '/v1/chat/completions'
const keys = ['one', 'two', 'three']
const threeKeys = keys.map(key => `${key}: { value: "vendor-secret-of-alpha-${key}" }`).join(', ')
const plentyOf = ['rpm: 60, tpm: 500000', 'rpm: 6000, tpm: 50000000'] as const

const ask = (words: string, max_tokens = 20) => ({
  model: 'sim-chat',
  max_tokens,
  messages: [{ role: 'user' as const, content: words }],
})
const large = (no: number) => ask(`Write a book ${no}`, 64_000 - no)

type Answer = readonly [status: number, body: unknown, headers?: { readonly [name: string]: string }]

/** A gateway with three keys of one vendor, and two clients. Requests of more than 18,721 tokens get `refusal`. */
async function open(t: Test, refusal: BodyRefusal | undefined, clock = new HandTime()) {
  const started = await start(t, {
    clock: { now: clock.now, tick: clock.tick },
    edit: [keyedEdit(threeKeys), plentyOf],
  })
  const vendor = started.upstreams['text'] as Upstream
  /** Fixed answers by key, for every request. */
  const always = new Map<string, Answer>()
  vendor.answer((res, { headers, body }) => {
    const key = /-(\w+)$/.exec(String(headers.authorization))?.[1] ?? ''
    const { max_tokens = 0 } = JSON.parse(body.toString() || '{}') as { max_tokens?: number }
    const refused =
      refusal && max_tokens > 18_721 ? ([refusal.status, refusal.body, refusal.headers] as const) : undefined
    const [status, answer, more] = always.get(key) ?? refused ?? [200, chatAnswer]
    res.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(answer))
  })
  const { key: other } = await started.newKey({ name: 'other' })
  const send = async (body: object, key?: string) => {
    const res = await started.post(chat, body, key === undefined ? {} : { authorization: `Bearer ${key}` })
    return { status: res.status, text: await res.text() }
  }
  const states = () => (started.gateway.status().upstream_keys['text'] ?? []).map(({ state }) => state)
  return { ...started, vendor, always, other, send, states, clock }
}

const active = ['active', 'active', 'active']

t.test("refusals caused by one client's requests affect no other client and no key", async t => {
  for (const refusal of bodyRefusals) {
    const { send, other, states, vendor, charges } = await open(t, refusal)
    for (let i = 0; i < 3; i++) {
      // An SDK repeats the same request.
      const { status, text } = await send(large(0))
      t.ok(status >= 400, caseName({ name: refusal.name, i }))
      if (!refusal.isTold) continue
      t.equal(status, refusal.status, caseName({ name: refusal.name, i }))
      t.same(JSON.parse(text), refusal.body, 'in the words of the vendor')
    }
    t.same(states(), active, refusal.name)
    t.equal(vendor.received.length, 9, `${refusal.name}: each key is asked, for one may serve it`)
    t.equal((await charges()).length, 0, `${refusal.name}: and nothing is charged`)
    const count = refusal.name === 'more than a minute admits' ? 95 : 15
    const statuses = await Promise.all(Array.from({ length: count }, (_, i) => send(ask(`a word ${i}`), other)))
    t.same(
      statuses.filter(({ status }) => status !== 200),
      [],
      `${refusal.name}: all ${count} requests of another client are answered`,
    )
    t.equal((await send(ask('a word'))).status, 200, `${refusal.name}: and the client's own smaller one`)
    t.same(states(), active, refusal.name)
  }
})

t.test('a client with varying requests cannot lock others out either', async t => {
  for (const refusal of bodyRefusals) {
    const { send, other, states, clock } = await open(t, refusal)
    for (let i = 0; i < 12; i++) await send(large(i))
    const statuses = await Promise.all(Array.from({ length: 20 }, (_, i) => send(ask(`a word ${i}`), other)))
    t.same(
      statuses.filter(({ status }) => status !== 200),
      [],
      refusal.name,
    )
    // A key that has recently served smaller requests is not suspended for larger ones.
    const before = states()
    for (let i = 0; i < 12; i++) await send(large(20 + i))
    t.same(states(), before, `${refusal.name}: an ordinary request has to confirm it`)
    clock.pass(1_000)
    t.equal((await send(ask('a word'))).status, 200, `${refusal.name}: within a second the client is served too`)
  }
})

t.test('a key with more credit serves a request that another cannot afford', async t => {
  const { send, always, states } = await open(t, undefined)
  const [refusal] = bodyRefusals as [BodyRefusal]
  always.set('one', [refusal.status, refusal.body]).set('two', [refusal.status, refusal.body])
  for (let i = 0; i < 5; i++) t.equal((await send(large(i))).status, 200, caseName({ i }))
  t.same(states(), active)
})

t.test('one request changes the state of at most one key, whatever the answers', async t => {
  const rows: readonly (readonly [Answer, string])[] = [
    [[401, { error: { code: 'invalid_api_key' } }], 'suspended'],
    [[429, { error: { code: 'insufficient_quota' } }], 'suspended'],
    [[429, { error: { code: 'rate_limit_exceeded' } }, { 'retry-after': '30' }], 'cooling'],
  ]
  for (const [answer, state] of rows) {
    const { send, always, states } = await open(t, undefined)
    for (const key of keys) always.set(key, answer)
    for (const changed of [1, 2, 3]) {
      await send(ask('a word'))
      t.equal(states().filter(one => one === state).length, changed, caseName({ state, changed, status: answer[0] }))
    }
  }
})

t.test('a key without credit is suspended when a second, different request confirms it', async t => {
  const { send, always, states, other } = await open(t, undefined)
  always.set('one', [402, { error: { message: 'Payment required', code: 402 } }])
  const postAs = async (key?: string) => {
    for (let i = 0; i < 40 && !states().includes('suspended'); i++) await send(ask(`word ${i}`), key)
  }
  await postAs(other)
  t.same(states(), ['suspended', 'active', 'active'])
})

t.test('suspended keys are tried within a second if no other is left, with backoff to half a minute', async t => {
  const { send, always, states, vendor, clock, settled } = await open(t, undefined)
  for (const key of keys) always.set(key, [401, { error: { code: 'invalid_api_key' } }])
  for (let i = 0; i < 3; i++) await send(ask('a word'))
  t.same(states(), ['suspended', 'suspended', 'suspended'])
  const asks = async (): Promise<number> => {
    const before = vendor.received.length
    for (let i = 0; i < 5; i++) t.equal((await send(ask('a word'))).status, 502, 'the ordinary request')
    return vendor.received.length - before
  }
  t.equal(await asks(), 0, 'not at once')
  const gaps: number[] = []
  for (let i = 0; i < 4; i++) {
    let seconds = 0
    for (; (await asks()) === 0; seconds++) {
      // A commit in progress would seem to take a second.
      await settled()
      clock.pass(1_000)
    }
    gaps.push(seconds)
  }
  t.same(gaps, [1, 2, 4, 8], 'at a bounded rate')
  always.clear()
  // A commit in progress would seem to take half a minute.
  await settled()
  clock.pass(30_000)
  t.equal((await send(ask('a word'))).status, 200, 'mended, it is found to be so by an ordinary request')
  t.ok(states().includes('active'))
})

t.test('a key limited for all clients is not used for the reported time', async t => {
  const { send, always, vendor, other, states } = await open(t, undefined)
  const limit: Answer = [429, { error: { code: 'rate_limit_exceeded' } }, { 'retry-after': '30' }]
  for (const key of keys) always.set(key, limit)
  for (let i = 0; i < 3; i++) t.equal((await send(ask(`word ${i}`))).status, 429, `word ${i}`)
  t.same(states(), ['cooling', 'cooling', 'cooling'])
  const before = vendor.received.length
  t.equal((await send(ask('a word'))).status, 429)
  t.equal(vendor.received.length, before, 'the client that caused it is refused at once')
  t.equal((await send(ask('a word'), other)).status, 429)
  t.equal(vendor.received.length, before + 3, 'another one looks')
  t.equal((await send(ask('a word'), other)).status, 429)
  t.equal(vendor.received.length, before + 3, 'once')
})
