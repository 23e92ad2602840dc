import Anthropic from '@anthropic-ai/sdk'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { checkConfig } from '../../src/index.ts'
import { runCli } from '../harness/cli.ts'
import { caseName } from '../harness/case-name.ts'
import { png } from '../harness/pictures.ts'
import { merge, readRecipe, readShipped, type Tree } from '../harness/recipes.ts'
import { checkBooks } from '../harness/shop.ts'
import { start, type Started } from '../harness/start.ts'

const picture = png(1024, 1024).toString('base64')

type Style = {
  readonly page: string
  readonly vendor: string
  readonly model: string
  readonly path: string
  readonly streamPath: string
  readonly body: object
  /** The vendor's answer with words, optionally followed by a picture; complete or as events. */
  readonly answer: (hasPicture: boolean) => object
  readonly events: (hasPicture: boolean) => readonly (object | string)[]
  /** 50,000 input and 8,000 output tokens, in micro-units, and the price of the picture. */
  readonly words: number
  readonly image: number
}

const usage = { prompt_tokens: 50_000, completion_tokens: 8_000, total_tokens: 58_000 }
const images = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }]
const usageMetadata = { promptTokenCount: 50_000, candidatesTokenCount: 8_000, totalTokenCount: 58_000 }
const part = { inlineData: { mimeType: 'image/png', data: picture } }
const content = 'A boat is a small ship.'

const styles: readonly Style[] = [
  {
    page: 'openrouter-image.md',
    vendor: 'openrouter',
    model: 'google/gemini-2.5-flash-image',
    path: '/v1/chat/completions',
    streamPath: '/v1/chat/completions',
    body: { model: 'google/gemini-2.5-flash-image', messages: [{ role: 'user', content: 'What is a boat?' }] },
    answer: hasPicture => {
      const message = { role: 'assistant', content, ...(hasPicture && { images }) }
      return { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
    },
    events: hasPicture => [
      { id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content } }] },
      ...(hasPicture ? [{ id: 'c', choices: [{ index: 0, delta: { images } }] }] : []),
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { id: 'c', choices: [], usage },
      '[DONE]',
    ],
    words: 15_000 + 20_000,
    image: 40_000,
  },
  {
    page: 'gemini-image.md',
    vendor: 'gemini',
    model: 'gemini-3.1-flash-image',
    path: '/v1beta/models/gemini-3.1-flash-image:generateContent',
    streamPath: '/v1beta/models/gemini-3.1-flash-image:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'What is a boat?' }] }] },
    answer: hasPicture => ({
      candidates: [
        { content: { role: 'model', parts: [{ text: content }, ...(hasPicture ? [part] : [])] }, finishReason: 'STOP' },
      ],
      usageMetadata,
    }),
    events: hasPicture => [
      { candidates: [{ content: { role: 'model', parts: [{ text: content }] } }] },
      ...(hasPicture ? [{ candidates: [{ content: { role: 'model', parts: [part] } }] }] : []),
      { candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP' }], usageMetadata },
    ],
    words: 25_000 + 24_000,
    image: 67_000,
  },
]

/** A gateway with the shipped file, a recipe and further settings, in front of an upstream that the test controls. */
async function open(t: Test, { page, vendor }: Style, more: Tree = {}): Promise<Started> {
  let whole = await readShipped()
  for (const fragment of (await readRecipe(page)).fragments) whole = merge(whole, fragment)
  const upstreams = { [vendor]: { url: `\${${vendor.toUpperCase()}_URL}` } }
  whole = merge(merge(whole, { upstreams, groups: { default: { rpm: 1_000_000 } } }), more)
  return start(t, { yaml: stringify(whole, { lineWidth: 0 }), upstreams: [vendor] })
}

async function ask(started: Started, style: Style, { stream = false, hasPicture = false, key = started.key }) {
  const upstream = started.upstreams[style.vendor] as NonNullable<Started['upstreams'][string]>
  if (stream)
    upstream.answer(res => {
      const text = style
        .events(hasPicture)
        .map(one => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`)
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(text.join(''))
    })
  else upstream.answer(style.answer(hasPicture))
  const body = style.page.startsWith('openrouter') ? { ...style.body, stream } : style.body
  const headers = { authorization: `Bearer ${key}`, 'x-goog-api-key': key }
  const res = await started.post(stream ? style.streamPath : style.path, body, headers)
  const text = await res.text()
  await started.settled()
  const id = res.headers.get('x-request-id') ?? ''
  const { ledger } = started.gateway.storage
  return { status: res.status, text, images: await ledger.find(id), use: await ledger.find(`${id}.u`) }
}

for (const style of styles) {
  const { page } = style
  t.test(`words from an image model cost their tokens, and nothing more with a picture: ${page}`, async t => {
    const started = await open(t, style)
    for (const stream of [false, true]) {
      const words = await ask(started, style, { stream })
      t.equal(words.status, 200, caseName({ stream, text: words.text }))
      t.ok(words.text.includes(content), caseName({ stream }))
      t.match(words.images, { state: 'voided', amount: 0, reason: 'zero_images' }, caseName({ stream }))
      t.match(words.use, { state: 'settled', amount: style.words }, caseName({ stream }))
      const drawn = await ask(started, style, { stream, hasPicture: true })
      t.equal(drawn.status, 200, caseName({ stream }))
      t.match(drawn.images, { state: 'settled', amount: style.image }, caseName({ stream }))
      t.equal(drawn.use, undefined, caseName({ stream }))
    }
    t.same(await checkBooks(started.gateway), [])
  })

  t.test(
    `a picture in pieces of text is charged as one, and so is a message that consists of a link: ${page}`,
    async t => {
      const started = await open(t, style, { groups: { default: { tpm: 1_000_000_000 } } })
      const texts = [`![image](data:image/png;base64,${picture})`, '![image](https://cdn.example/1.png)']
      for (const text of texts)
        for (const length of [60, 100, 1_000_000])
          for (const stream of [false, true]) {
            const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, i) =>
              text.slice(i * length, (i + 1) * length),
            )
            const spoken = {
              ...style,
              answer: () => JSON.parse(JSON.stringify(style.answer(false)).replace(content, text)) as object,
              events: () =>
                style
                  .events(false)
                  .flatMap(one =>
                    JSON.stringify(one).includes(content)
                      ? pieces.map(piece => JSON.parse(JSON.stringify(one).replace(content, piece)) as object)
                      : [one],
                  ),
            }
            const got = await ask(started, spoken, { stream })
            const name = caseName({ length, stream, text: text.slice(0, 40) })
            t.equal(got.status, 200, name)
            t.match(got.images, { state: 'settled' }, name)
            t.ok((got.images?.amount ?? 0) > 0, name)
            // The pixels of a linked picture are unknown.
            if (text.includes('base64')) t.equal(got.images?.amount, style.image, name)
            t.ok(
              pieces.every(piece => got.text.includes(JSON.stringify(piece).slice(1, -1))),
              `${name}: whole`,
            )
          }
      t.same(await checkBooks(started.gateway), [])
    },
  )

  t.test(`words next to what may be a picture are refused, and their tokens are free: ${page}`, async t => {
    const started = await open(t, style)
    const result = { media: 'https://cdn.example/1.png' }
    const damaged = {
      ...style,
      answer: () => ({ ...style.answer(false), result }),
      events: () => [{ result }, ...style.events(false)],
    }
    for (const stream of [false, true]) {
      const got = await ask(started, damaged, { stream })
      t.match(got.text, 'unknown format', caseName({ stream }))
      t.notMatch(got.text, content, caseName({ stream }))
      t.match(got.images, { state: 'needs_review', amount: 0 }, caseName({ stream }))
      t.equal(got.use, undefined, caseName({ stream }))
    }
  })

  t.test(`a picture after the first word of a text arrives before the stream continues: ${page}`, async t => {
    const started = await open(t, style)
    const [words, drawn, ...rest] = style
      .events(true)
      .map(one => `data: ${typeof one === 'string' ? one : JSON.stringify(one).replace(content, 'Here')}\n\n`)
    const { promise: received, resolve: receive } = Promise.withResolvers<void>()
    started.upstream.answer(async res => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(`${words}${drawn}`)
      await received
      res.end(rest.join(''))
    })
    const body = page.startsWith('openrouter') ? { ...style.body, stream: true } : style.body
    const headers = { authorization: `Bearer ${started.key}`, 'x-goog-api-key': started.key }
    const res = await started.post(style.streamPath, body, headers)
    let text = ''
    for await (const piece of res.body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(piece).toString()
      if (text.includes(picture)) receive()
    }
    t.ok(text.includes('Here'))
    t.match(await started.charges(1), [{ amount: (style.image / 1_000_000).toString() }])
  })

  t.test(`a refusal that consists of a link is not delivered: ${page}`, async t => {
    const started = await open(t, style)
    const upstream = started.upstreams[style.vendor] as NonNullable<Started['upstreams'][string]>
    for (const message of ['https://cdn.example/1.png', '![a](https://cdn.example/1.png)', `see ${picture}`]) {
      upstream.answer(res => {
        res
          .writeHead(400, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message, code: 400 } }))
      })
      const headers = { authorization: `Bearer ${started.key}`, 'x-goog-api-key': started.key }
      const res = await started.post(style.path, style.body, headers)
      t.equal(res.status, 502, message.slice(0, 40))
      t.notMatch(await res.text(), 'cdn.example', message.slice(0, 40))
    }
  })

  t.test(`with "beside_images: bill" tokens are charged with a picture too: ${page}`, async t => {
    const family = style.vendor === 'gemini' ? 'gemini-image' : 'openrouter-chat-image'
    const started = await open(t, style, { families: { [family]: { 'token-usage': { beside_images: 'bill' } } } })
    for (const stream of [false, true]) {
      const drawn = await ask(started, style, { stream, hasPicture: true })
      t.match(drawn.images, { state: 'settled', amount: style.image }, caseName({ stream }))
      t.match(drawn.use, { state: 'settled', amount: style.words }, caseName({ stream }))
    }
  })

  t.test(`the price per request is the minimum of an answer without a picture: ${page}`, async t => {
    const prices = { ...pricesOf(style), request: '0.002' }
    const other = await open(t, style, { models: { [`${style.model}-least`]: modelOf(style, prices) } })
    const plain = { ...style, ...renamed(style, `${style.model}-least`) }
    const words = await ask(other, plain, {})
    t.match(words.use, { state: 'settled', amount: 2_000 })
    const drawn = await ask(other, plain, { hasPicture: true })
    t.match(drawn.images, { state: 'settled', amount: style.image })
    t.equal(drawn.use, undefined)
  })

  t.test(`both prices are held while a request runs, and released: ${page}`, async t => {
    const started = await open(t, style)
    const poor = await started.newKey({ budget: style.image + 100 })
    t.equal((await ask(started, style, { key: poor.key })).status, 402, 'its words may cost more')
    const rich = await started.newKey({ budget: 10_000_000 })
    await ask(started, style, { key: rich.key, hasPicture: true })
    await ask(started, style, { key: rich.key })
    t.match(await started.gateway.storage.keys.find(rich.id), { held: 0, spent: style.image + style.words })
  })
}

function pricesOf({ vendor }: Style): object {
  return vendor === 'gemini' ? { '1K': '0.067', '2K': '0.101', '4K': '0.151' } : { image: '0.04' }
}

function modelOf({ vendor }: Style, prices: object): object {
  return { family: vendor === 'gemini' ? 'gemini-image' : 'openrouter-chat-image', upstream: vendor, prices }
}

function renamed(style: Style, model: string): Pick<Style, 'model' | 'path' | 'streamPath' | 'body'> {
  const { path, streamPath, body } = style
  return {
    model,
    path: path.replace(style.model, model),
    streamPath: streamPath.replace(style.model, model),
    body: 'model' in body ? { ...body, model } : body,
  }
}

const unpriced = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups: { default: {} }
upstreams: { text: { url: "\${TEXT_URL}" } }
pipeline: [auth, size-normalize, image-tier-billing, token-usage]
families:
  draws:
    forward: { chat: { all: true } }
    image-tier-billing:
      tiers: [{ tier: 1K }]
      tier_from: [output]
      otherwise: 1K
      texts: [content]
      answers: { chat: { at: choices.message.images, picture: image_url.url, refused: [{ if: { choices.finish_reason: any } }] } }
models:
  draws-one: { family: draws, upstream: text, prices: { 1K: "0.04" } }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
`

t.test('a picture that the format of the client cannot carry is bought once, and costs nothing', async t => {
  for (const style of styles) {
    const name = caseName({ page: style.page })
    const started = await open(t, style, { models: { [style.model]: { accepts: ['messages'] } } })
    const client = new Anthropic({ baseURL: started.url, apiKey: started.key })
    const request = { model: style.model, max_tokens: 100, messages: [{ role: 'user', content: 'a boat' } as const] }

    started.upstream.answer(style.answer(true))
    await t.rejects(client.messages.create(request), { status: 502, message: /has an image/ }, name)
    t.equal(started.upstream.received.length, 1, `${name}: the SDK sends it once`)
    t.match(await started.charges(1), [{ state: 'voided', reason: 'not_delivered', amount: '0.00' }], name)
    const [charge] = await started.charges(1)
    t.equal(await started.gateway.storage.ledger.find(`${charge?.id}.u`), undefined, name)

    started.upstream.answer(style.answer(false))
    t.match(await client.messages.create(request), { content: [{ type: 'text', text: content }] }, name)
    t.same(await checkBooks(started.gateway), [], name)
  }
})

t.test('a family that may answer in words without a price starts as before, and check refuses it', async t => {
  const started = await start(t, { yaml: unpriced, upstreams: ['text'] })
  t.match(started.gateway.plan.warnings, [/draws-one may respond with text only \(chat\)/])
  const env = { TEXT_URL: 'http://127.0.0.1:9', TOLLGATE_STORAGE: `sqlite:${started.folder}/other.db` }
  const { code, stdout, stderr } = await runCli({ folder: started.folder, yaml: unpriced, env }, 'check')
  t.equal(code, 3)
  t.match(`${stdout}${stderr}`, /cli\.yaml:\d+:\d+.*draws-one may respond with text only/)
  t.match(`${stdout}${stderr}`, /add token-usage: \{ beside_images: free \}/)
  for (const [section, prices] of [
    ['token-usage: { beside_images: free }', 'input: "1", output: "2"'],
    ['token-usage: { beside_images: free }', 'request: "0.001"'],
    ['token-usage: { free_operations: [chat] }', 'request: "0"'],
  ] as const) {
    const text = unpriced
      .replace('forward: { chat', `${section}\n    forward: { chat`)
      .replace('1K: "0.04"', `1K: "0.04", ${prices}`)
    const loaded = await checkConfig({ text }, { ...process.env, ...env })
    t.same(loaded.ok && loaded.notes.filter(({ code: one }) => one !== 'price_unused'), [], section)
  }
})
