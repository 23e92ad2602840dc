import t from 'tap'
import { createTold, type Heard } from '../../src/kit/index.ts'
import { describe } from '../../plugins/translate/describe.ts'
import { PictureWriter } from '../../plugins/translate/picture-writer.ts'
import { readAnswer } from '../../plugins/translate/read-answer.ts'
import type { Section } from '../../plugins/translate/schema.ts'
import { Values } from '../../plugins/translate/values.ts'

type Read = { readonly text: string; readonly count: number; readonly told: ReturnType<typeof createTold> }

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ'

/** What is written of answers that come in pieces of so many bytes. */
async function read(section: object, answers: readonly string[], bytes = 1): Promise<Read> {
  const told = createTold()
  const writer = new PictureWriter(told, { created: 1 })
  const reader = {
    reading: describe(section as Section),
    writer,
    told,
    sums: { usage: new Map<string, number>() },
    claim: () => true,
    isOneOfSeveral: answers.length > 1,
    follow: () => {
      throw new Error('no link is followed')
    },
  }
  let text = ''
  for (const answer of answers)
    for await (const chunk of readAnswer(heard(answer, bytes), reader)) text += chunk.toString()
  writer.finish({ usage: undefined })
  for (const chunk of writer.take()) text += String(Buffer.isBuffer(chunk) ? chunk : chunk.url)
  return { text, count: writer.count, told }
}

function heard(answer: string, bytes: number): Heard {
  const all = Buffer.from(answer)
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: (async function* () {
      for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes)
    })(),
  }
}

t.test('[10] a link whose slashes are escaped is a link, wherever it is cut', async t => {
  const answer = String.raw`{"data":[{"url":"https:\/\/cdn.example\/a.png"}]}`
  const { text } = await read({}, [answer])
  t.strictSame(JSON.parse(text), { created: 1, data: [{ url: 'https://cdn.example/a.png' }] })
})

t.test('[10] base64 whose slashes are escaped is base64, wherever it is cut', async t => {
  const { text } = await read({}, [String.raw`{"data":[{"\u006264_json":"\/9j\/4AAQ"}]}`])
  t.strictSame(JSON.parse(text), { created: 1, data: [{ b64_json: '/9j/4AAQ' }] })
})

t.test('[10] two places whose items are open together give two whole pictures', async t => {
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

t.test('[10] an item within an item gives its own picture', async t => {
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

t.test('[10] an item whose member for failures is empty has not failed', async t => {
  const section = { answer: { at: 'data', picture: 'b64', error: 'error' } }
  for (const error of ['', null, false, 0]) {
    const { count } = await read(section, [JSON.stringify({ data: [{ error, b64: picture }] })])
    t.equal(count, 1, `error ${JSON.stringify(error)}`)
  }
})

t.test('[10] of several answers of which one counts nothing, none is uncounted', async t => {
  const one = (more: object) => JSON.stringify({ data: [{ b64_json: picture }], ...more })
  const { told } = await read({ count: 'usage.images' }, [one({ usage: { images: 1 } }), one({})])
  t.equal(told.count, 2)
})

t.test('[10] what an answer says last is known, however often it says it', async t => {
  const values = new Values()
  for (let i = 0; i < 1_000; i++) values.add('usage.total', String(i))
  t.equal(values.last('usage.total'), '999')
  t.ok(values.of('usage.total').length <= 64, 'and what is kept of it is bounded')
})
