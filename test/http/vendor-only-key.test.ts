import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { HandTime } from '../harness/hand-time.ts'
import { start, type StartOptions } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'
import { chatAnswer, chatRequest } from '../harness/vendor-keys.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

const chat = '/v1/chat/completions'
const minute = 60_000

type Refusal = readonly [status: number, body: unknown, headers?: { readonly [name: string]: string }]

const badKey: Refusal = [401, { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } }]

/**
 * The shipped gateway, whose upstreams have one credential each; with `spare` another upstream can replace the one for
 * chat.
 */
async function open(
  t: Test,
  { spare = false, edit = [], ...options }: StartOptions & { readonly spare?: boolean } = {},
) {
  const spareEdits: NonNullable<StartOptions['edit']> = [
    [/(sim-chat: \{[^\n]*?)upstream: text/, '$1upstreams: [{ upstream: text }, { upstream: beta, priority: 2 }]'],
  ]
  const started = await start(t, { ...options, edit: [...(spare ? spareEdits : []), ...edit] })
  const vendor = started.upstreams['text'] as Upstream
  const other = started.upstreams['beta'] as Upstream
  const refusal: { now: Refusal | undefined } = { now: undefined }
  vendor.answer((res, { method }) => {
    const [status, body, headers] = refusal.now ?? [200, method === 'GET' ? { data: [] } : chatAnswer]
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  })
  other.answer(res => void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chatAnswer)))
  const asked = () => vendor.received.filter(({ method }) => method === 'POST').length
  const report = () => {
    const [key] = started.gateway.status().upstream_keys['text'] ?? []
    return key
  }
  return { ...started, vendor, other, refusal, asked, report }
}

const deadKeys: readonly (readonly [answer: Refusal, reason: string])[] = [
  [badKey, 'invalid'],
  [[401, 'no'], 'invalid'],
  [[402, { error: { message: 'no money' } }], 'no_credit'],
  [[403, { error: { code: 'invalid_api_key' } }], 'invalid'],
  [[429, { error: { code: 'insufficient_quota' } }, { 'retry-after': '5' }], 'no_credit'],
  [[200, { error: { code: 'invalid_api_key', message: 'no' } }], 'invalid'],
]

t.test("a revoked key of an upstream with one key is reported as the gateway's, and shown", async t => {
  for (const [answer, reason] of deadKeys) {
    const name = caseName({ status: answer[0], reason })
    const { post, refusal, report } = await open(t)
    refusal.now = answer
    const got = await post(chat, chatRequest)
    t.equal(got.status, 502, name)
    t.match(await got.json(), { error: { code: 'upstream_credentials' } }, name)
    // A 402 without a text may be caused by the request, so another request has to be refused before the key is
    // suspended.
    if (answer[0] === 402) {
      t.match(report(), { state: 'active', asked: true }, name)
      await post(chat, { ...chatRequest, max_tokens: 5 })
    }
    t.match(report(), { name: 'credential', state: 'suspended', reason, asked: false }, name)
    refusal.now = undefined
    t.equal((await post(chat, chatRequest)).status, 200, `${name}: where nobody else is to be asked, it is asked still`)
  }
})

t.test('if another upstream replaces it, 20 of 20 calls are answered, and one upstream call is wasted', async t => {
  const { post, refusal, asked, other } = await open(t, { spare: true })
  refusal.now = badKey
  for (let i = 0; i < 20; i++) t.equal((await post(chat, chatRequest)).status, 200, caseName({ i }))
  t.equal(asked(), 1)
  t.equal(other.received.length, 20)
})

t.test('it is active again when one request is served, a minute later', async t => {
  const clock = new HandTime()
  const { post, refusal, asked, report } = await open(t, { spare: true, clock: { now: clock.now, tick: clock.tick } })
  refusal.now = badKey
  await post(chat, chatRequest)
  clock.pass(minute)
  await post(chat, chatRequest)
  await post(chat, chatRequest)
  // A probe of the gateway may come in between, and counts as a try too.
  t.ok(asked() <= 2, 'one tries it, and no other')
  refusal.now = undefined
  for (let i = 0; i < 3 && report()?.state !== 'active'; i++) {
    clock.pass(minute)
    await post(chat, chatRequest)
  }
  t.match(report(), { state: 'active', reason: null, asked: true })
})

t.test('errors that are not about the key suspend nothing', async t => {
  const rows: readonly (readonly [Refusal, number, string | undefined])[] = [
    [[429, { error: { code: 'rate_limit_exceeded', message: 'slow' } }, { 'retry-after': '1' }], 429, 'slow'],
    [[429, { error: { message: 'slow' } }], 429, 'slow'],
    [[403, { error: { code: 403, message: 'flagged', metadata: { reasons: ['violence'] } } }], 403, 'flagged'],
    [[403, { error: { message: 'forbidden' } }], 403, 'forbidden'],
    [[403, { error: { code: 'model_not_allowed' } }], 502, undefined],
    [[402, { error: { code: 402 } }, { 'retry-after': '2' }], 429, undefined],
    [[404, { error: { code: 'model_not_found', message: 'gone' } }], 404, 'gone'],
    [[503, 'no'], 503, undefined],
    [[500, { error: { message: 'broken' } }], 500, 'broken'],
  ]
  const { post, refusal, asked, report } = await open(t)
  for (const [i, [answer, status, message]] of rows.entries()) {
    const name = caseName({ i, status: answer[0], code: JSON.stringify(answer[1]) })
    refusal.now = answer
    const got = await post(chat, chatRequest)
    t.equal(got.status, status, name)
    const text = await got.text()
    if (message !== undefined) t.match(text, message, name)
    else if (status === 502) t.match(text, 'upstream_credentials', name)
    t.match(report(), { state: 'active', asked: true }, name)
  }
  t.equal(asked(), rows.length, 'each is called at once, whatever the earlier answers')
})

t.test('an unsold, refused request goes to the next upstream', async t => {
  const rows: readonly Refusal[] = [
    [402, {}],
    [403, { error: { message: 'forbidden' } }],
    [403, 'Forbidden'],
    [503, 'no'],
    [529, {}],
    [429, {}],
  ]
  for (const answer of rows) {
    const name = caseName({ status: answer[0], body: JSON.stringify(answer[1]) })
    const { post, refusal, asked } = await open(t, { spare: true })
    refusal.now = answer
    t.equal((await post(chat, chatRequest)).status, 200, name)
    t.equal(asked(), 1, name)
  }
})

t.test('a person suspends, probes and resumes it like any other, and it is then not used', async t => {
  const clock = new HandTime()
  const started = await open(t, { clock: { now: clock.now, tick: clock.tick } })
  const { post, asked, refusal } = started
  const admin = await enterAsAdmin(started, clock)
  const path = (what: string): string => `/api/upstreams/text/keys/credential/${what}`
  t.match((await admin.post(path('suspend'), { reason: 'over its bill' })).body, { state: 'suspended', asked: false })
  t.equal((await post(chat, chatRequest)).status, 502)
  t.equal(asked(), 0)
  t.match((await admin.post(path('resume'))).body, { state: 'active' })
  t.equal((await post(chat, chatRequest)).status, 200)
  refusal.now = badKey
  t.match((await admin.post(path('test'))).body, { result: 'bad', answer: '401 invalid_api_key' })
  await post(chat, chatRequest)
  refusal.now = undefined
  t.match((await admin.post(path('test'))).body, { result: 'good', key: { state: 'active' } })
  const kinds = (await started.gateway.storage.events.after(0, 100)).map(({ kind }) => kind)
  t.match(
    kinds.filter(kind => kind.startsWith('upstream.')),
    ['key_suspended', 'exhausted', 'key_resumed', 'key_suspended', 'exhausted', 'key_resumed'].map(
      kind => `upstream.${kind}`,
    ),
  )
})

t.test('an upstream without a secret has no key, and its answers pass to the client', async t => {
  const { post, refusal, gateway } = await open(t, { env: { TEXT_API_KEY: '' } })
  refusal.now = badKey
  t.equal((await post(chat, chatRequest)).status, 401)
  t.equal(gateway.plan.upstreams.get('text')?.keys, undefined)
})
