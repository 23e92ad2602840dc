import t from 'tap'
import { createResponseMetadata, type UpstreamResponse } from '../../src/plugin-api/index.ts'
import { describe } from '../../plugins/translate/describe.ts'
import { readAnswer } from '../../plugins/translate/read-answer.ts'
import type { Section } from '../../plugins/translate/schema.ts'
import { AnswerValues, PictureWriter } from '../../src/wire/index.ts'

type Read = {
  readonly text: string
  readonly count: number
  readonly metadata: ReturnType<typeof createResponseMetadata>
}

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ'

/** The translation of answers that arrive in pieces of this many bytes. */
async function read(
  section: object,
  answers: readonly string[],
  bytes = 1,
  {
    seen = [],
    type = 'application/json',
    hasRoom = true,
    ...writing
  }: { event?: string; waits?: boolean; seen?: string[]; type?: string; hasRoom?: boolean } = {},
): Promise<Read> {
  const metadata = createResponseMetadata()
  const writer = new PictureWriter(metadata, { created: 1, ...writing })
  const reader = {
    reading: describe(section as Section),
    writer,
    metadata,
    sums: { usage: new Map<string, number>(), words: new Map<string, string>() },
    claim: { take: () => hasRoom, give: () => undefined },
    isOneOfSeveral: answers.length > 1,
    follow: () => {
      throw new Error('no link is followed')
    },
  }
  let text = ''
  for (const answer of answers)
    for await (const chunk of readAnswer(heard(answer, bytes, type), reader)) {
      text += chunk.toString()
      seen.push(chunk.toString())
    }
  const { usage, words } = reader.sums
  writer.finish({ usage: usage.size > 0 ? Object.fromEntries(usage) : undefined, words })
  for (const chunk of writer.take()) text += String(Buffer.isBuffer(chunk) ? chunk : chunk.url)
  return { text, count: writer.count, metadata }
}

function heard(answer: string, bytes: number, type: string): UpstreamResponse {
  const all = Buffer.from(answer)
  return {
    status: 200,
    headers: { 'content-type': type },
    body: (async function* () {
      for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes)
    })(),
  }
}

t.test('[10] a link with escaped slashes is a link, however it is split', async t => {
  const answer = String.raw`{"data":[{"url":"https:\/\/cdn.example\/a.png"}]}`
  const { text } = await read({}, [answer])
  t.strictSame(JSON.parse(text), { created: 1, data: [{ url: 'https://cdn.example/a.png' }] })
})

t.test('[10] base64 with escaped slashes is base64, however it is split', async t => {
  const { text } = await read({}, [String.raw`{"data":[{"\u006264_json":"\/9j\/4AAQ"}]}`])
  t.strictSame(JSON.parse(text), { created: 1, data: [{ b64_json: '/9j/4AAQ' }] })
})

t.test('[10] two places with open items give two whole pictures', async t => {
  const section = {
    answer: [
      { at: '.', picture: 'image' },
      { at: 'images', picture: '.' },
    ],
  }
  const { text, count } = await read(section, [
    JSON.stringify({ image: picture, images: [picture, 'https://x.example/y'] }),
  ])
  t.equal(count, 3)
  const pictures = [{ b64_json: picture }, { b64_json: picture }, { url: 'https://x.example/y' }]
  t.strictSame(JSON.parse(text), { created: 1, data: pictures })
})

t.test('[10] a nested item gives its own picture', async t => {
  const section = {
    answer: [
      { at: 'data', picture: 'b64', text: { note: 'note' } },
      { at: 'data.layers', picture: 'b64' },
    ],
  }
  const layered = { data: [{ b64: picture, layers: [{ b64: picture }, { b64: picture }], note: 'n' }] }
  const { text, count } = await read(section, [JSON.stringify(layered)])
  t.equal(count, 3)
  t.match(JSON.parse(text), { data: [{ b64_json: picture }, { b64_json: picture }, { b64_json: picture }] })
})

t.test('[10] duplicate members are two pictures, and both are counted', async t => {
  const { text, count } = await read({}, [`{"data":[{"b64_json":"${picture}","b64_json":"${picture}"}]}`])
  t.equal(count, 2)
  t.equal((JSON.parse(text) as { data: unknown[] }).data.length, 2)
})

t.test('[10] an item whose error member is empty has not failed', async t => {
  const section = { answer: { at: 'data', picture: 'b64', error: 'error' } }
  for (const error of ['', null, false, 0]) {
    const { count } = await read(section, [JSON.stringify({ data: [{ error, b64: picture }] })])
    t.equal(count, 1, `error ${JSON.stringify(error)}`)
  }
})

t.test('[10] if one of several answers has no count, none is uncounted', async t => {
  const one = (more: object) => JSON.stringify({ data: [{ b64_json: picture }], ...more })
  const { metadata } = await read({ count: 'usage.images' }, [one({ usage: { images: 1 } }), one({})])
  t.equal(metadata.count, 2)
})

t.test('[10] the last value of an answer counts, however often it is repeated', async t => {
  const values = new AnswerValues()
  for (let i = 0; i < 1_000; i++) values.add('usage.total', String(i))
  t.equal(values.last('usage.total'), '999')
  t.ok(values.of('usage.total').length <= 64, 'and the kept part is bounded')
})

t.test("other members that SDKs read are in the client's answer", async t => {
  const section = {
    usage: {
      input_tokens: 'usage.input_tokens',
      'input_tokens_details.text_tokens': 'usage.input_tokens_details.text_tokens',
      'input_tokens_details.image_tokens': 'usage.input_tokens_details.image_tokens',
    },
  }
  const usage = { input_tokens: 9, input_tokens_details: { text_tokens: 4, image_tokens: 5 } }
  const words = { size: '1024x1024', quality: 'high', background: 'opaque', output_format: 'png' }
  const answer = JSON.stringify({ ...words, data: [{ b64_json: picture }], usage })
  const { text } = await read(section, [answer])
  t.same(JSON.parse(text), { created: 1, data: [{ b64_json: picture }], ...words, usage })
  const odd = JSON.stringify({ quality: 'a sentence of the vendor', size: { a: 1 }, data: [{ b64_json: picture }] })
  t.same(JSON.parse((await read({}, [odd])).text), { created: 1, data: [{ b64_json: picture }] })
})

t.test("the event of a picture has its answer's usage, and waits for that alone", async t => {
  const section = { usage: { input_tokens: 'usage.in' }, answer: { at: 'data', picture: 'b64_json' } }
  const answers = [4, 5].map(used =>
    JSON.stringify({ data: [{ b64_json: picture }, { b64_json: picture }], usage: { in: used } }),
  )
  const { text } = await read(section, answers, 7, { event: 'image_generation.completed', waits: true })
  const events = text
    .split('\n\n')
    .filter(one => one !== '')
    .map(one => JSON.parse(one.split('data: ')[1] as string) as object)
  const event = { type: 'image_generation.completed', b64_json: picture }
  t.same(events, [event, { ...event, usage: { input_tokens: 4 } }, event, { ...event, usage: { input_tokens: 5 } }])
})

t.test('a picture before its answer broke off has a complete event', async t => {
  const seen: string[] = []
  const broken = `{"data":[{"b64_json":"${picture}"},`
  await t.rejects(read({}, [broken], 9, { event: 'image_generation.completed', waits: true, seen }))
  t.match(seen.join(''), /^event: image_generation\.completed\ndata: \{.*\}\n\n$/)
})

const streamed = { type: 'text/event-stream', event: 'image_generation.completed' }
const eventsOf = (...all: readonly object[]): string => all.map(one => `data: ${JSON.stringify(one)}\n\n`).join('')
const roles = { stream: { events: { done: 'image' }, picture: 'b64' } }

t.test('[13.2] undescribed content does not cut a stream whose picture was delivered', async t => {
  for (const [strange, shape] of [
    [eventsOf({ type: 'strange', b64: picture }), "a picture in an event 'strange'"],
    ['data: ["https://cdn.example/a.png"]\n\n', 'an event whose data is no JSON object'],
    [eventsOf({ type: 'done', b64: 'data:text/plain,a' }), 'a data: URL that is not base64'],
    ['data: {"type":"other"}{}\n\n', 'data after the JSON object'],
  ] as const)
    for (const events of [
      [eventsOf({ type: 'done', b64: picture }), strange],
      [strange, eventsOf({ type: 'done', b64: picture })],
    ]) {
      const { text, count, metadata } = await read(roles, [events.join('')], 7, streamed)
      t.equal(count, 1, shape)
      t.match(text, picture, shape)
      t.equal(metadata.omitted, shape, shape)
    }
})

t.test('[13.2] undescribed content without a picture goes to review', async t => {
  const reading = read(roles, [eventsOf({ type: 'strange', b64: picture })], 7, streamed)
  await t.rejects(reading, { code: 'upstream_answer_undescribed', message: /a picture in an event 'strange'/ })
})

t.test('[13.7] a picture repeated in one stream is written once, numbered or not', async t => {
  const again = eventsOf({ type: 'done', b64: picture }, { type: 'done', b64: picture })
  t.equal((await read(roles, [again], 7, streamed)).count, 1, 'in events')
  const whole = eventsOf({ data: [{ b64_json: picture }] }, { data: [{ b64_json: picture }] })
  const answers = { stream: { each: 'answer' } }
  t.equal((await read(answers, [whole], 7, streamed)).count, 1, 'in answers')
  const numbered = { stream: { ...roles.stream, index: 'n' } }
  const two = eventsOf({ type: 'done', n: 0, b64: picture }, { type: 'done', n: 1, b64: picture })
  t.equal((await read(numbered, [two], 7, streamed)).count, 2, 'those of other numbers are others')
  t.equal(
    (await read(answers, [eventsOf({ data: [{ b64_json: picture }, { b64_json: picture }] })], 7, streamed)).count,
    2,
  )
})

t.test('[13.7] without memory, the pictures of a stream of answers pass as they arrive', async t => {
  const whole = eventsOf({ data: [{ b64_json: picture }, { url: 'https://cdn.example/a.png' }] })
  const { text, count } = await read({ stream: { each: 'answer' } }, [whole], 7, { ...streamed, hasRoom: false })
  t.equal(count, 2)
  t.match(text, `"b64_json":"${picture}"`)
  t.match(text, '"url":"https://cdn.example/a.png"')
})
