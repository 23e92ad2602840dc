import { GoogleGenAI } from '@google/genai'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { type Started, start } from '../harness/start.ts'

const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

async function open(
  t: Test,
  edit: NonNullable<Parameters<typeof start>[1]>['edit'] = [],
): Promise<Started & { readonly google: GoogleGenAI; readonly other: GoogleGenAI }> {
  const wide = [/default: { rpm: 60, tpm: 500000, concurrency: 32 }/, 'default: { rpm: 60000 }'] as const
  const started = await start(t, { simulated: true, edit: [wide, ...edit] })
  const clientOf = (apiKey: string) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: started.url } })
  return { ...started, google: clientOf(started.key), other: clientOf((await started.newKey({ name: 'other' })).key) }
}

const words = (count: number): string => Array.from({ length: count }, () => 'word').join(' ')
const create = (google: GoogleGenAI, count: number, ttl: string) =>
  google.caches.create({
    model: 'sim-generative',
    config: { contents: [{ role: 'user', parts: [{ text: words(count) }] }], ttl },
  })

t.test('lets only its key use, extend, list and delete cached content, and charges its storage once', async t => {
  const { google, other, charges } = await open(t)
  const made = await create(google, 1_000, '7200s')
  const name = made.name as string
  t.match(made, { name: /^cachedContents\//, usageMetadata: { totalTokenCount: 1_000 } })
  const [written] = await charges()
  t.same(
    written?.lines.map(({ tier, quantity }) => [tier, quantity]).filter(([, quantity]) => quantity !== 0),
    [
      ['input', 1_000],
      ['cache_storage', 2_000],
    ],
  )
  // 1,000 tokens at 0.30 per million, and 2,000 token-hours at 1.00 per million.
  t.equal(written?.amount, '0.0023')
  t.match(await google.caches.get({ name }), { name })
  const listed = []
  for await (const one of await google.caches.list()) listed.push(one.name)
  t.same(listed, [name])
  const ask = { model: 'sim-generative', contents: 'hi', config: { cachedContent: name } }
  t.ok((await google.models.generateContent(ask)).text)
  const end = new Date(Date.parse(made.expireTime as string) + 3_600_000).toISOString()
  t.match(await google.caches.update({ name, config: { expireTime: end } }), { expireTime: end })
  const [extended] = await charges()
  t.same(
    extended?.lines.map(({ tier, quantity }) => [tier, quantity]).filter(([, quantity]) => quantity !== 0),
    [['cache_storage', 1_000]],
    'only the hour that was added',
  )
  t.match(await google.caches.update({ name, config: { ttl: '60s' } }), { name })
  const [latest] = await charges()
  t.equal(latest?.id === extended?.id || latest?.amount === '0.00', true, 'a shorter time costs nothing')
  for (const [what, call] of [
    ['get', () => other.caches.get({ name })],
    ['update', () => other.caches.update({ name, config: { ttl: '9000s' } })],
    ['delete', () => other.caches.delete({ name })],
    ['use', () => other.models.generateContent(ask)],
    ['stream', () => other.models.generateContentStream(ask)],
    [
      'use in small letters',
      () => other.models.generateContent({ ...ask, config: { cachedContent: name.toLowerCase() } }),
    ],
  ] as const)
    t.match(await refusalOf(call()), { status: 404 }, caseName({ what }))
  await google.caches.delete({ name })
  t.match(await refusalOf(google.models.generateContent(ask)), { status: 404 })
  t.match(await refusalOf(google.caches.get({ name })), { status: 404 })
})

t.test('refuses to cache content without a price, a sufficient budget, or room', async t => {
  const { google, newKey, url, reload } = await open(t)
  const { key } = await newKey({ name: 'poor', budget: 1_000 })
  const poor = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })
  t.match(await refusalOf(create(poor, 10_000, '360000s')), { status: 402 }, 'the storage is held before')
  await reload([[', cache_storage: "1.00"', '']])
  t.match(await refusalOf(create(google, 10, '60s')), { status: 400 }, 'no price')
  await reload([
    ['grounding: "35" }', 'grounding: "35", cache_storage: "1.00" }'],
    ['default: { rpm: 60000 }', 'default: { rpm: 60000, stored_objects: { max: 1 } }'],
  ])
  t.ok((await create(google, 10, '60s')).name)
  t.match(await refusalOf(create(google, 10, '60s')), { status: 429 })
})

t.test('sends requests with cached content to the upstream that has it', async t => {
  const upstreams = ['alpha', 'beta', 'text', 'two'] as const
  const started = await start(t, {
    upstreams,
    edit: [
      ['upstreams:\n', 'upstreams:\n  two: { url: "${TWO_URL}" }\n'],
      [
        'sim-generative: { family: generative, upstream: text,',
        'sim-generative: { family: generative, upstreams: [{ upstream: text }, { upstream: two }],',
      ],
      [/default: { rpm: 60, tpm: 500000, concurrency: 32 }/, 'default: { rpm: 60000 }'],
    ],
  })
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  let made = 0
  for (const at of ['text', 'two'])
    started.upstreams[at]?.answer((res, { url, method }) => {
      const times = { createTime: '2026-01-01T00:00:00Z', expireTime: '2099-01-01T01:00:00Z' }
      const cache = { name: `cachedContents/${at}-${++made}`, ...times, usageMetadata: { totalTokenCount: 1 } }
      const answer = { candidates: [{ content: { parts: [{ text: at }] }, finishReason: 'STOP' }], usageMetadata }
      const isCache = method === 'POST' && url.includes('cachedContents')
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(isCache ? cache : answer))
    })
  const contents = [{ parts: [{ text: 'hi' }] }]
  const places = new Set<string>()
  for (let i = 0; i < 20; i++) {
    const cache = await started.post('/v1beta/cachedContents', { model: 'models/sim-generative', contents })
    const { name } = (await cache.json()) as { name: string }
    const place = /\/(\w+)-/.exec(name)?.[1] ?? ''
    places.add(place)
    const used = await started.post('/v1beta/models/sim-generative:generateContent', { contents, cachedContent: name })
    t.match(await used.json(), { candidates: [{ content: { parts: [{ text: place }] } }] }, name)
  }
  t.equal(places.size, 2, 'both upstreams have some')
})
