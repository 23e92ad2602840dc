import t from 'tap'
import { describe } from '../../plugins/image-tier-billing/described-places.ts'
import { DescribedEventScanner } from '../../plugins/image-tier-billing/scan-described-events.ts'
import { type DescribedOptions, DescribedScanner } from '../../plugins/image-tier-billing/scan-described.ts'
import {
  type FoundImage,
  type ScanResult,
  type Scanner,
  tailBytes,
} from '../../plugins/image-tier-billing/scan-result.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { leaveOut } from '../harness/left-out.ts'
import { caseName } from '../harness/case-name.ts'
import { pngHead } from '../harness/image-heads.ts'

const unreadable = { name: 'Unreadable' }
const unrecognised = { name: 'Unrecognised' }

const image = (width: number, bytes = 60): string =>
  Buffer.concat([pngHead(width, 5), Buffer.alloc(bytes, width)]).toString('base64')
const found = (index: number, width: number): FoundImage => ({ index, kind: 'bytes', size: { width, height: 5 } })
const link = (index: number): FoundImage => ({ index, kind: 'link', size: null })

const parts = describe({
  at: 'candidates.content.parts',
  picture: 'inlineData.data',
  skip_if: { thought: true },
  opaque: ['thoughtSignature'],
  refused: [{ if: { 'candidates.finishReason': ['SAFETY', 'IMAGE_SAFETY'] } }, { if: { promptFeedback: 'any' } }],
  stream: { each: 'answer' },
})
const chat = describe({
  at: ['choices.message.images', 'choices.delta.images'],
  picture: ['image_url.url', 'b64_json'],
  keep_if: { type: ['image_url', 'image'] },
  stream: { each: 'answer' },
})
const words = { texts: ['text'] }

const inline = (width: number, more: object = {}, bytes = 60) => ({
  inlineData: { mimeType: 'image/png', data: image(width, bytes) },
  ...more,
})
const answer = (...all: object[]) => ({
  candidates: [{ content: { parts: all, role: 'model' }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3 },
})
const message = (...images: object[]) => ({
  id: 'gen-1',
  choices: [{ index: 0, message: { role: 'assistant', content: '', images }, finish_reason: 'stop' }],
})
const url = (to: string, more: object = {}) => ({ type: 'image_url', image_url: { url: to }, ...more })

function scan(scanner: Scanner, pieces: readonly Buffer[]): { out: string; done: FoundImage[] } {
  const out: Buffer[] = []
  const done: FoundImage[] = []
  const take = (scanned: ScanResult): void => {
    out.push(...scanned.out)
    done.push(...scanned.done)
  }
  for (const piece of pieces) take(scanner.write(piece))
  take(scanner.end())
  return { out: Buffer.concat(out).toString(), done }
}

/** Splits at every byte into two pieces, and into single bytes. */
function splits(text: string): Buffer[][] {
  const bytes = Buffer.from(text)
  const pairs = Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)])
  return [...pairs, Array.from(bytes, byte => Buffer.of(byte))]
}

type Row = readonly [title: string, description: typeof parts, text: string, images: FoundImage[]]

const answers: readonly Row[] = [
  ['one beside words', parts, JSON.stringify(answer({ text: 'see https://a.example' }, inline(7))), [found(0, 7)]],
  [
    'thoughts before their picture and behind it',
    parts,
    JSON.stringify(
      answer({ thought: true, ...inline(5) }, inline(6, { thought: true }), inline(7, { thought: false })),
    ),
    [found(0, 7)],
  ],
  ['several', parts, JSON.stringify(answer(inline(7), inline(8), inline(7))), [found(0, 7), found(1, 8), found(2, 7)]],
  ['of several candidates', parts, JSON.stringify([answer(inline(7)), answer(inline(8))]), [found(0, 7), found(1, 8)]],
  [
    'names and slashes escaped',
    parts,
    JSON.stringify(answer(inline(7)))
      .replaceAll('/', '\\/')
      .replace('"parts"', '"p\\u0061rts"'),
    [found(0, 7)],
  ],
  ['none, since it was refused', parts, '{"promptFeedback":{"blockReason":"OTHER"}}', []],
  ['none, since its finish says so', parts, '{"candidates":[{"finishReason":"IMAGE_SAFETY","index":0}]}', []],
  ['an error', parts, '{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}', []],
  ['data: URLs', chat, JSON.stringify(message(url(`data:image/png;base64,${image(7)}`))), [found(0, 7)]],
  ['a link', chat, JSON.stringify(message(url('https://a.example/1.png'))), [link(0)]],
  [
    'a link that stands there twice',
    chat,
    JSON.stringify({ ...message(url('https://a.example/1')), x: 'https://a.example/1' }),
    [link(0)],
  ],
  [
    'a link beside what it leads to',
    chat,
    JSON.stringify(message(url('https://a.example/1.png', { b64_json: image(9) }))),
    [found(0, 9)],
  ],
  [
    'a kind that is none',
    chat,
    JSON.stringify(message(url('https://a.example/1.png'), url(`data:,${image(5)}`, { type: 'preview' }))),
    [link(0)],
  ],
]

for (const [title, description, text, images] of answers)
  t.test(`[14.8] pictures of an answer in its own style, split at every byte: ${title}`, async t => {
    for (const pieces of splits(text)) {
      const scanned = scan(new DescribedScanner(description, words), pieces)
      if (scanned.out !== text || JSON.stringify(scanned.done) !== JSON.stringify(images))
        t.same(scanned, { out: text, done: images }, caseName({ pieces: pieces.map(piece => piece.length) }))
    }
  })

const event = (value: object, end = '\n'): string => `data: ${JSON.stringify(value)}${end}${end}`
const delta = (...images: object[]) => ({ id: 'gen-1', choices: [{ index: 0, delta: { content: '', images } }] })

const streams: readonly Row[] = [
  [
    'words, then one',
    parts,
    event(answer({ text: 'Here' })) + event(answer(inline(7))) + event(answer()),
    [found(0, 7)],
  ],
  ['thoughts', parts, event(answer(inline(5, { thought: true }))) + event(answer(inline(7))), [found(0, 7)]],
  ['two in one event', parts, event(answer(inline(7), inline(8))), [found(0, 7), found(1, 8)]],
  [
    'other line ends, comments and a last word',
    chat,
    `: PROCESSING\r\n\r\n${event(delta(url(`data:image/png;base64,${image(7)}`)), '\r\n')}${event(delta(url('https://a.example/1')), '\r')}data: [DONE]\n\n`,
    [found(0, 7), link(1)],
  ],
  ['the last without its blank line', parts, event(answer(inline(7))).trimEnd(), [found(0, 7)]],
  ['a refusal', parts, event(answer({ text: 'I' })) + event({ candidates: [{ finishReason: 'SAFETY' }] }), []],
  ['an error', parts, event(answer({ text: 'I' })) + event({ error: { code: 503, message: 'busy' } }), []],
]

for (const [title, description, text, images] of streams)
  for (const [held, bytes] of [
    ['held whole', 1e6],
    ['with no room to hold it', 0],
  ] as const)
    t.test(`[14.8] pictures of a stream in its own style, split at every byte, ${held}: ${title}`, async t => {
      for (const pieces of splits(text)) {
        const scanned = scan(new DescribedEventScanner(description, new ByteBudget(bytes), words), pieces)
        if (scanned.out !== text || JSON.stringify(scanned.done) !== JSON.stringify(images))
          t.same(scanned, { out: text, done: images }, caseName({ pieces: pieces.map(piece => piece.length) }))
      }
    })

const bad: readonly (readonly [title: string, description: typeof parts, value: unknown])[] = [
  ['a picture in base64 elsewhere', parts, { ...answer(inline(7)), more: image(8) }],
  ['a data: URL elsewhere', parts, { ...answer(inline(7)), more: `data:image/png;base64,${image(8)}` }],
  ['a link elsewhere', parts, { ...answer(inline(7)), more: 'https://a.example/1' }],
  ['another spelling of its member', parts, answer({ inline_data: { data: image(7) } })],
  ['a drawing in what is told as text', parts, answer({ text: '<svg><path/></svg>' }, inline(7))],
  ['a picture in what is no picture', parts, answer(inline(7, { thoughtSignature: image(8) }))],
  ['a link in what is no picture', parts, answer(inline(7, { thoughtSignature: 'https://a.example/1' }))],
  ['words and no picture', parts, answer({ text: 'I would rather not.' })],
  ['thoughts alone', parts, answer(inline(5, { thought: true }))],
  ['one item with two pictures', chat, message(url(`data:image/png;base64,${image(7)}`, { b64_json: image(8) }))],
  [
    'a link of an item that is none',
    chat,
    message(url('https://a.example/1'), { type: 'x', u: 'https://a.example/2' }),
  ],
  ['no object', parts, 'text'],
]

for (const [title, description, value] of bad)
  t.test(`[14.8] undescribed content is not delivered: ${title}`, async t => {
    const text = JSON.stringify(value)
    for (const pieces of [[text], text]) {
      const chunks = Array.from(pieces, piece => Buffer.from(piece))
      const whole = leaveOut(new DescribedScanner(description, words), chunks)
      t.equal(whole.isRefused, whole.images === 0, caseName({ pieces: chunks.length }))
      t.notMatch(whole.out, /a\.example\/2|"more":"[^"]/, caseName({ pieces: chunks.length }))
      const stream = [`data: ${text}\n`, '\n'].map(piece => Buffer.from(piece))
      const events = new DescribedEventScanner(description, new ByteBudget(1e6), words)
      const streamed = leaveOut(events, stream)
      t.equal(streamed.isRefused, streamed.images === 0, caseName({ stream: chunks.length }))
    }
  })

const broken: readonly (readonly [title: string, text: string, error: typeof unrecognised])[] = [
  ['it breaks off', JSON.stringify(answer(inline(7))).split('}}', 1)[0] ?? '', unreadable],
  ['brackets do not match', `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"${image(7)}"}]}]}`, unreadable],
]

const doubtful = [
  'true,"thought":false',
  'true,"thought":null',
  'null,"thought":true',
  'true,"thought":[]',
  'true,"thought":{}',
]

for (const literal of doubtful)
  t.test(`[14.8] ambiguous content is charged, and flagged: ${literal}`, async t => {
    const text = `{"candidates":[{"content":{"parts":[{"thought":${literal},"inlineData":{"data":"${image(7)}"}}]}}]}`
    const result = leaveOut(new DescribedScanner(parts, words), [Buffer.from(text)])
    t.match(result, { isRefused: false, images: 1, out: text })
  })

t.test('[14.8] the second of two members with one name is omitted with its name', async t => {
  const inner = `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"${image(7)}","data":"${image(8)}"}}]}}]}`
  const one = `"inlineData":{"data":"${image(7)}"}`
  const outer = `{"candidates":[{"content":{"parts":[{${one},"inlineData":{"data":"${image(8)}"}}]}}]}`
  for (const text of [inner, outer])
    for (const pieces of splits(text)) {
      const result = leaveOut(new DescribedScanner(parts, words), pieces)
      const read = JSON.parse(result.out) as { candidates: { content: { parts: { inlineData: object }[] } }[] }
      t.match(read.candidates[0]?.content.parts[0]?.inlineData, { data: image(7) }, `${pieces.length} pieces`)
      t.equal(result.images, 1, `${pieces.length} pieces`)
    }
})

t.test('[14.8] a picture in one piece, longer than any link, is a picture', async t => {
  const text = JSON.stringify(answer(inline(7, {}, 90_000)))
  t.same(scan(new DescribedScanner(parts, words), [Buffer.from(text)]), { out: text, done: [found(0, 7)] })
})

for (const [title, text, error] of broken)
  t.test(`[14.8] nothing of the picture is delivered if ${title}`, async t => {
    const out: Buffer[] = []
    const scanner = new DescribedScanner(parts, words)
    t.throws(() => {
      for (const byte of Buffer.from(text)) out.push(...scanner.write(Buffer.of(byte)).out)
      scanner.end()
    }, error)
    t.notMatch(Buffer.concat(out).toString(), image(7))
  })

t.test('[14.8] the last 4 KiB of a picture wait until its item has been classified', async t => {
  for (const [title, more, images] of [
    ['a picture', ',"x":1', [found(0, 7)]],
    ['a thought', ',"thought":true', []],
  ] as const) {
    const scanner = new DescribedScanner(parts, words)
    const head = `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"${image(7, 9_000)}`
    t.equal(Buffer.concat(scanner.write(Buffer.from(head)).out).length, head.length - tailBytes, title)
    const behind = scanner.write(Buffer.from(`"}${more}`))
    t.same([behind.done, Buffer.concat(behind.out).length], [[], 0], title)
    const over = scanner.write(Buffer.from('}'))
    t.same(over.done, images, title)
    t.equal(Buffer.concat(over.out).length, tailBytes + 2 + more.length + 1, title)
  }
})

t.test('[14.8] nothing of a link is delivered before its item ends', async t => {
  const scanner = new DescribedScanner(chat, words)
  const first = '{"choices":[{"message":{"images":[{"type":"image_url","image_url":{"url":"'
  const long = `https://a.example/${'a'.repeat(9_000)}`
  t.same(scanner.write(Buffer.from(first + long)).out, [])
  t.same(scanner.write(Buffer.from('"}')).out, [])
  const over = scanner.write(Buffer.from('}'))
  t.same(over.done, [link(0)])
  t.equal(Buffer.concat(over.out).length, first.length + long.length + 3)
  const endless = new DescribedScanner(chat, words)
  const result = leaveOut(endless, [Buffer.from(`${first}https://${'a'.repeat(70_000)}"}}]}}]}`)])
  t.match(result, { isRefused: true, out: '', shape: /longer than any link/ })
})

t.test('[14.8] held memory does not grow with the size or number of pictures', async t => {
  const heldOf = (pictures: number, bytes: number): number => {
    const scanner = new DescribedScanner(parts, words)
    const text = Buffer.from(JSON.stringify(answer(...Array.from({ length: pictures }, () => inline(7, {}, bytes)))))
    let came = 0
    let gone = 0
    let most = 0
    for (let at = 0; at < text.length; at += 1_000) {
      const piece = text.subarray(at, at + 1_000)
      came += piece.length
      for (const one of scanner.write(piece).out) gone += one.length
      most = Math.max(most, came - gone)
    }
    return most
  }
  const small = heldOf(1, 100_000)
  t.ok(small < 6_000, `${small}`)
  t.ok(heldOf(1, 200_000) <= small + 1_000)
  t.ok(heldOf(8, 100_000) <= small + 1_000)
})

t.test('[14.8] signatures of megabytes pass before and after a picture, and do not count as pictures', async t => {
  const signature = 'CoMB'.repeat(500_000)
  const text = JSON.stringify(
    answer({ text: 'so', thoughtSignature: signature }, inline(7, { thoughtSignature: signature }), inline(8)),
  )
  const pieces = Array.from({ length: Math.ceil(text.length / 60_000) }, (_, i) =>
    Buffer.from(text.slice(i * 60_000, (i + 1) * 60_000)),
  )
  const images = [found(0, 7), found(1, 8)]
  const { out, done } = scan(new DescribedScanner(parts, words), pieces)
  t.same(done, images)
  t.ok(out === text, 'and every byte is unchanged')
  for (const room of [1e7, 0]) {
    const events = new DescribedEventScanner(parts, new ByteBudget(room), words)
    const stream = scan(events, [Buffer.from('data: '), ...pieces, Buffer.from('\n\n')])
    t.same(stream.done, images, caseName({ room }))
    t.ok(stream.out === `data: ${text}\n\n`, caseName({ room }))
  }
})

t.test('[14.8] an item that never ends, and texts that never end before a picture, are bounded', async t => {
  const scanner = new DescribedScanner(parts, words)
  const head = `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"${image(7)}"}`
  scanner.write(Buffer.from(head))
  const more = (): void => {
    for (let i = 0; i < 200; i++) scanner.write(Buffer.from(`,"text":"${'word '.repeat(10_000)}"`))
  }
  t.throws(more, unreadable)
  const talk = new DescribedScanner(parts, words)
  let gone = 0
  talk.write(Buffer.from('{"candidates":[{"content":{"parts":[{"text":""}'))
  for (let i = 0; i < 40; i++)
    for (const one of talk.write(Buffer.from(`,{"text":"${'word '.repeat(10_000)}"}`)).out) gone += one.length
  t.ok(gone > 500_000, 'so that a long answer is not gathered')
})

t.test('[14.8] an answer without a marked end is complete when its JSON closes', async t => {
  const text = JSON.stringify(answer(inline(7)))
  const options: DescribedOptions = { endUnknown: true, ...words }
  t.same(scan(new DescribedScanner(parts, options), [Buffer.from(text)]).done, [found(0, 7)])
  t.throws(() => scan(new DescribedScanner(parts, options), []), unreadable)
  t.throws(() => scan(new DescribedScanner(parts, words), []), { name: 'Unrecognised', isNothing: true })
})

t.test('[14.8] nothing of an event is delivered before its end, and its memory is freed', async t => {
  const budget = new ByteBudget(100_000)
  const scanner = new DescribedEventScanner(parts, budget, words)
  const text = event(answer(inline(7, {}, 9_000)))
  t.same(scanner.write(Buffer.from(text.slice(0, -2))), { out: [], done: [] })
  t.notOk(budget.take(100_000))
  scanner.close()
  t.ok(budget.take(100_000))
})

t.test('[14.8] invalid lines of an event, and data that is no object, are not delivered', async t => {
  for (const text of [
    'image: x\n\n',
    `: ${'x'.repeat(300)}\n\n`,
    'id: https://a.example/1\n\n',
    'data: text\n\n',
    'data: {}{}\n\n',
  ])
    t.match(
      leaveOut(new DescribedEventScanner(parts, new ByteBudget(1e6), words), [Buffer.from(text)]),
      { images: 0, isRefused: true },
      text.slice(0, 20),
    )
  const cut = [Buffer.from('data: {"a":\n\n')]
  t.throws(() => scan(new DescribedEventScanner(parts, new ByteBudget(1e6), words), cut), unreadable)
})
