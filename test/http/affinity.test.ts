import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { type Started, type StartOptions, start } from '../harness/start.ts'
import type { Received, Upstream } from '../harness/upstream.ts'

const completion = {
  id: 'c1',
  object: 'chat.completion',
  choices: [],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
}
const chat = '/v1/chat/completions'
const names = ['text', 'two', 'three'] as const

/** A chat model on three upstreams. */
async function open(
  t: Test,
  edit: StartOptions['edit'] = [],
): Promise<Started & { readonly three: readonly Upstream[] }> {
  const started = await start(t, {
    upstreams: ['alpha', 'beta', ...names],
    edit: [
      ['upstreams:\n', 'upstreams:\n  two: { url: "${TWO_URL}" }\n  three: { url: "${THREE_URL}" }\n'],
      [/default: { rpm: 60, tpm: 500000, concurrency: 32 }/, 'default: { rpm: 60000, tpm: 500000000 }'],
      [
        'sim-chat: { family: chat, upstream: text,',
        'sim-chat: { family: chat, upstreams: [{ upstream: text }, { upstream: two }, { upstream: three }],',
      ],
      ...edit,
    ],
  })
  const three = names.map(name => started.upstreams[name] as Upstream)
  for (const upstream of three) upstream.answer(completion)
  return { ...started, three }
}

const ask = (key: string) => ({ model: 'sim-chat', messages: [], prompt_cache_key: key })

/** The upstreams that received each conversation's requests. */
function placesOf(three: readonly Upstream[], read: (received: Received) => string): ReadonlyMap<string, Set<number>> {
  const places = new Map<string, Set<number>>()
  for (const [i, { received }] of three.entries())
    for (const one of received) places.set(read(one), (places.get(read(one)) ?? new Set()).add(i))
  return places
}

const keyOf = (received: Received): string => String(received.json()['prompt_cache_key'])

t.test(
  'sends requests with the same prompt_cache_key to one upstream, and distributes keys over all upstreams',
  async t => {
    const { post, three } = await open(t)
    for (let turn = 0; turn < 3; turn++)
      await Promise.all(Array.from({ length: 60 }, (_, i) => post(chat, ask(`k${i}`)).then(answer => answer.text())))
    const places = placesOf(three, keyOf)
    t.equal(places.size, 60)
    t.ok(
      [...places.values()].every(({ size }) => size === 1),
      'no conversation was at two upstreams',
    )
    for (const [i, { received }] of three.entries())
      t.ok(received.length > 30, caseName({ i, requests: received.length }))
  },
)

t.test('moves the conversations of a paused upstream to the others, and no other conversation', async t => {
  const { post, three } = await open(t, [
    ['  two: { url: "${TWO_URL}" }', '  two: { url: "${TWO_URL}", cooldown: { failures: 1, for: 1h } }'],
  ])
  const round = () =>
    Promise.all(Array.from({ length: 60 }, (_, i) => post(chat, ask(`k${i}`)).then(answer => answer.text())))
  await round()
  const before = placesOf(three, keyOf)
  const [, two] = three as [Upstream, Upstream, Upstream]
  two.answer(res => void res.writeHead(503).end())
  await round()
  await round()
  const after = placesOf(three, keyOf)
  for (const [key, was] of before) {
    const is = after.get(key) ?? new Set()
    if (was.has(1)) t.equal([...is].filter(i => i !== 1).length, 1, `${key} found one other upstream`)
    else t.same(is, was, `${key} stayed`)
  }
})

t.test(
  'reads hints from fields and headers, separates hints by key, and distributes requests without a hint',
  async t => {
    const { post, three, newKey } = await open(t)
    const from = async (headers: Record<string, string>, body: object) => {
      const counts = three.map(({ received }) => received.length)
      for (let i = 0; i < 20; i++) await (await post(chat, body, headers)).text()
      return three.map(({ received }, i) => received.length - (counts[i] ?? 0)).filter(count => count > 0).length
    }
    const body = { model: 'sim-chat', messages: [] }
    t.equal(await from({ 'session-id': 'a' }, body), 1, 'session-id')
    t.equal(await from({ session_id: 'a' }, body), 1, 'session_id, as older agents write it')
    t.ok((await from({}, body)) > 1, 'no hint')
    t.ok((await from({ 'session-id': 'a' }, { ...body, prompt_cache_key: 7 })) === 1, 'only texts are hints')
    const seen = new Set<number>()
    for (let i = 0; i < 12; i++) {
      const { key } = await newKey({ name: `key ${i}` })
      const counts = three.map(({ received }) => received.length)
      await (await post(chat, ask('same'), { authorization: `Bearer ${key}` })).text()
      seen.add(three.findIndex(({ received }, at) => received.length > (counts[at] ?? 0)))
    }
    t.ok(seen.size > 1, 'keys are spread')
  },
)

t.test('keeps a conversation together by metadata.user_id unless the model sets its own affinity', async t => {
  const { post, three, reload } = await open(t, [
    [
      'sim-messages: { family: messages, upstream: text,',
      'sim-messages: { family: messages, upstreams: [{ upstream: text }, { upstream: two }, { upstream: three }],',
    ],
  ])
  const body = { model: 'sim-messages', max_tokens: 8, messages: [], metadata: { user_id: 'user_1_session_2' } }
  const spread = async () => {
    const counts = three.map(({ received }) => received.length)
    for (let i = 0; i < 20; i++) await (await post('/v1/messages', body)).text()
    return three.filter(({ received }, i) => received.length > (counts[i] ?? 0)).length
  }
  t.equal(await spread(), 1)
  await reload([['sim-messages: { family: messages,', 'sim-messages: { family: messages, affinity: {},']])
  t.ok((await spread()) > 1, 'affinity: {} of the model')
})

t.test('uses one vendor key for a conversation, and another one while that key is limited', async t => {
  const started = await start(t, {
    env: { K1: 'one', K2: 'two', K3: 'three' },
    edit: [
      [
        'credential: { header: authorization, value: "Bearer ${TEXT_API_KEY:-}" }',
        'credential: { header: authorization, value: "Bearer {key}" }\n    keys: { a: { value: "${K1}" }, b: { value: "${K2}" }, c: { value: "${K3}" } }',
      ],
    ],
  })
  const text = started.upstreams['text'] as Upstream
  text.answer(completion)
  const usedBy = async (hint: string, times = 8) => {
    const from = text.received.length
    for (let i = 0; i < times; i++) await (await started.post(chat, ask(hint))).text()
    return new Set(text.received.slice(from).map(({ headers }) => headers.authorization))
  }
  const first = await usedBy('c')
  t.equal(first.size, 1)
  const all = new Set<string | undefined>()
  // The key for a hint depends on the random name of the client's key: in one of 80 runs five hints had the same key.
  for (let i = 0; i < 24; i++) for (const key of await usedBy(`other ${i}`, 1)) all.add(key)
  t.ok(all.size > 1, 'keys share conversations')
  const [limited] = first
  text.answer((res, { headers }) => {
    if (headers.authorization === limited) res.writeHead(429, { 'retry-after': '600' }).end('{"error":{}}')
    else res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion))
  })
  await usedBy('c')
  const then = await usedBy('c')
  t.equal(then.size, 1)
  t.notOk(then.has(limited))
})
