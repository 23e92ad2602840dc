import t from 'tap'
import { describe } from '../../plugins/image-tier-billing/described-places.ts'
import { EventScanner } from '../../plugins/image-tier-billing/scan-events.ts'
import { DescribedEventScanner } from '../../plugins/image-tier-billing/scan-described-events.ts'
import { DescribedScanner } from '../../plugins/image-tier-billing/scan-described.ts'
import { ImageScanner } from '../../plugins/image-tier-billing/scan-images.ts'
import { ToolAnswerScanner } from '../../plugins/image-tier-billing/scan-tool-answer.ts'
import type { FoundImage, ScanResult, Scanner } from '../../plugins/image-tier-billing/scan-result.ts'
import { Unrecognised } from '../../plugins/image-tier-billing/scan-result.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { caseName } from '../harness/case-name.ts'
import { pngHead } from '../harness/image-heads.ts'

const parts = describe({
  at: 'candidates.content.parts',
  picture: 'inlineData.data',
  refused: [{ if: { 'candidates.finishReason': 'any' } }],
  stream: { each: 'answer' },
})
const chat = describe({
  at: ['choices.message.images', 'choices.delta.images'],
  picture: 'image_url.url',
  refused: [{ if: { 'choices.finish_reason': 'any' } }],
  stream: { each: 'answer' },
})
const words = { texts: ['text', 'content', 'reasoning'] }

const image = (width: number, bytes = 900): string =>
  Buffer.concat([pngHead(width, 5), Buffer.alloc(bytes, width)]).toString('base64')
const inline = (width: number): string => `data:image/png;base64,${image(width)}`
const found = (index: number, width: number): FoundImage => ({ index, kind: 'bytes', size: { width, height: 5 } })
const link = (index: number): FoundImage => ({ index, kind: 'link', size: null })

type Channel = {
  readonly name: string
  readonly description: typeof parts
  readonly event: (piece: string, index: number) => object
  readonly last: object
}

const channels: readonly Channel[] = [
  {
    name: 'delta.content',
    description: chat,
    event: (content, index) => ({ choices: [{ index, delta: { content } }] }),
    last: { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  },
  {
    name: 'delta.reasoning',
    description: chat,
    event: (reasoning, index) => ({ choices: [{ index, delta: { reasoning } }] }),
    last: { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  },
  {
    name: 'parts[].text',
    description: parts,
    event: (text, index) => ({ candidates: [{ content: { parts: [{ text }], role: 'model' }, index }] }),
    last: { candidates: [{ finishReason: 'STOP', index: 0 }] },
  },
  {
    name: 'parts[].text, two in an event',
    description: parts,
    event: (text, index) => ({
      candidates: [{ content: { parts: [{ text: text.slice(0, 3) }, { text: text.slice(3) }] }, index }],
    }),
    last: { candidates: [{ finishReason: 'STOP', index: 0 }] },
  },
]

type Text = { readonly name: string; readonly text: string; readonly images: readonly FoundImage[] }

const texts: readonly Text[] = [
  { name: 'a picture in Markdown', text: `![image](${inline(7)})`, images: [found(0, 7)] },
  { name: 'a picture between words', text: `Here it is: ${image(7)} Enjoy.`, images: [found(0, 7)] },
  { name: 'a picture in lines', text: image(7).replaceAll(/.{76}/g, '$&\n'), images: [found(0, 7)] },
  { name: 'two pictures', text: `![a](${inline(7)})\n![b](${inline(8)})`, images: [found(0, 7), found(1, 8)] },
  { name: 'two with a blank between them', text: `${image(7)} ${image(8)}`, images: [found(0, 7), found(1, 8)] },
  { name: 'the same twice', text: `![a](${inline(7)}) and ![b](${inline(7)})`, images: [found(0, 7)] },
  { name: 'an address', text: 'https://cdn.example/1.png', images: [link(0)] },
  { name: 'a link in Markdown', text: '![a boat](https://cdn.example/1.png "boat")\n', images: [link(0)] },
  {
    name: 'two links',
    text: '![a](https://cdn.example/1.png)\n\n![b](https://cdn.example/2.png)',
    images: [link(0), link(1)],
  },
  { name: 'a picture in HTML', text: '<img alt="a" src="https://cdn.example/1.png">', images: [link(0)] },
  { name: 'a linked picture', text: '[![a](https://cdn.example/1.png)](https://cdn.example/2)', images: [link(0)] },
  { name: 'words with a link', text: 'See https://cdn.example/1.png for it.', images: [] },
  { name: 'a link, then words', text: 'https://cdn.example/1.png is where it is.', images: [] },
  { name: 'words of base64', text: 'A PNG begins with iVBORw0KGgo and a JPEG with /9j/ or so, they say.', images: [] },
  { name: 'a word', text: 'Hello', images: [] },
]

function scan(scanner: Scanner, pieces: readonly Buffer[]): { out: string; done: FoundImage[]; refused?: string } {
  const out: Buffer[] = []
  const done: FoundImage[] = []
  const take = (scanned: ScanResult): void => {
    out.push(...scanned.out)
    done.push(...scanned.done)
  }
  try {
    for (const piece of pieces) take(scanner.write(piece))
    take(scanner.end())
  } catch (error) {
    if (!(error instanceof Unrecognised)) throw error
    return { out: Buffer.concat(out).toString(), done, refused: error.shape }
  }
  return { out: Buffer.concat(out).toString(), done }
}

const eventOf = (value: object): Buffer => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)

function cut(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, i) => text.slice(i * length, (i + 1) * length))
}

for (const { name, description, event, last } of channels)
  for (const { name: title, text, images } of texts)
    t.test(`a picture in a text counts, however the text is split: ${name}: ${title}`, async t => {
      for (const length of [1, 2, 7, 60, 100, 1_000_000])
        for (const room of [1e7, 0]) {
          const events = [...cut(text, length).map(piece => event(piece, 0)), last].map(eventOf)
          const scanned = scan(new DescribedEventScanner(description, new ByteBudget(room), words), events)
          t.same(scanned, { out: Buffer.concat(events).toString(), done: images }, caseName({ length, room }))
        }
    })

t.test('texts of two choices are read separately, their index first or last', async t => {
  const [first, second] = [`![a](${inline(7)})`, 'So many words, and no picture at all. '.repeat(40)]
  const orders = [
    (content: string, index: number) => ({ choices: [{ index, delta: { content } }] }),
    (content: string, index: number) => ({ choices: [{ delta: { content }, index }] }),
  ]
  for (const [i, order] of orders.entries()) {
    const others = cut(second, 20)
    const events = cut(first, 20).flatMap((piece, at) => [order(piece, 0), order(others[at] ?? '', 1)])
    const all = [...events, { choices: [{ index: 0, finish_reason: 'stop' }] }].map(eventOf)
    t.same(scan(new DescribedEventScanner(chat, new ByteBudget(1e7), words), all).done, [found(0, 7)], `order ${i}`)
  }
})

t.test('a picture in a text of one answer counts, long or in parts', async t => {
  for (const { name, text, images } of texts)
    for (const pieces of [[text], cut(text, 40)]) {
      const isLinks = images.some(({ kind }) => kind === 'link')
      if (isLinks && pieces.length > 1) continue
      const all = pieces.map(piece => ({ text: piece }))
      const answer = JSON.stringify({ candidates: [{ content: { parts: all }, finishReason: 'STOP' }] })
      const bytes = cut(answer, 50).map(piece => Buffer.from(piece))
      t.same(
        scan(new DescribedScanner(parts, words), bytes),
        { out: answer, done: images },
        `${name}, ${pieces.length}`,
      )
    }
  const large = JSON.stringify({
    choices: [{ message: { content: `![a](data:image/png;base64,${image(7, 2_000_000)})` }, finish_reason: 'stop' }],
  })
  const chunks = cut(large, 60_000).map(piece => Buffer.from(piece))
  t.same(scan(new DescribedScanner(chat, words), chunks), { out: large, done: [found(0, 7)] })
})

t.test('a picture in both a text and the list of pictures counts once', async t => {
  const images = [{ type: 'image_url', image_url: { url: inline(7) } }]
  const linked = [{ type: 'image_url', image_url: { url: 'https://cdn.example/1.png' } }]
  const rows = [
    [`![a](${inline(7)})`, images, found(0, 7)],
    ['![a](https://cdn.example/1.png)', linked, link(0)],
  ] as const
  for (const [content, list, expected] of rows)
    for (const message of [
      { content, images: list },
      { images: list, content },
    ]) {
      const answer = JSON.stringify({ choices: [{ message, finish_reason: 'stop' }] })
      t.same(
        scan(new DescribedScanner(chat, words), [Buffer.from(answer)]),
        { out: answer, done: [expected] },
        answer.slice(0, 60),
      )
      const events = [
        ...Object.entries(message).map(([name, value]) => ({ choices: [{ delta: { [name]: value } }] })),
        { choices: [{ delta: {}, finish_reason: 'stop' }] },
      ].map(eventOf)
      const streamed = scan(new DescribedEventScanner(chat, new ByteBudget(1e7), words), events)
      t.same(streamed, { out: Buffer.concat(events).toString(), done: [expected] }, `stream ${answer.slice(0, 60)}`)
    }
})

t.test('the end of a picture in deltas waits for its charge', async t => {
  const scanner = new DescribedEventScanner(chat, new ByteBudget(1e7), words)
  const pieces = cut(`![a](${inline(7)}`, 80)
  const first = pieces.map(content => eventOf({ choices: [{ delta: { content } }] }))
  const gone = first.map(one => scanner.write(one))
  t.same(
    gone.flatMap(one => one.done),
    [],
  )
  const text = Buffer.concat(gone.flatMap(one => one.out)).toString()
  t.ok(text.length < 400, 'at most the beginning of a picture was sent')
  const over = scanner.write(eventOf({ choices: [{ delta: { content: ')' } }] }))
  t.same(over.done, [found(0, 7)])
  t.equal(
    text + Buffer.concat(over.out).toString(),
    Buffer.concat([...first, eventOf({ choices: [{ delta: { content: ')' } }] })]).toString(),
  )
})

t.test('a picture too large to hold is charged before its end', async t => {
  const scanner = new DescribedEventScanner(chat, new ByteBudget(1e8), words)
  const padding = 'so '.repeat(5_000)
  let held = 0
  const done: FoundImage[] = []
  for (const content of cut(image(7, 3_000), 20)) {
    const event = eventOf({ choices: [{ delta: { content }, message: padding }] })
    const scanned = scanner.write(event)
    held += event.length - Buffer.concat(scanned.out).length
    t.ok(held < 2 * 1024 * 1024, 'memory is bounded')
    done.push(...scanned.done)
  }
  done.push(...scanner.end().done)
  t.equal(done.length, 1)
})

t.test('a picture split over members that are not text is omitted', async t => {
  for (const name of ['note2', 'message', 'id']) {
    const pieces = cut(image(7), 60)
    const events = [
      ...pieces.map(piece => ({ choices: [{ delta: { content: 'so' } }], [name]: piece })),
      { choices: [{ finish_reason: 'stop' }] },
    ].map(eventOf)
    const scanned = scan(new DescribedEventScanner(chat, new ByteBudget(1e7), words), events)
    const kept = pieces.filter(piece => scanned.out.includes(piece))
    t.ok(kept.length < 4, `${name}: ${kept.length} of ${pieces.length} pieces`)
    t.same(scanned.done, [], name)
  }
})

t.test('an event whose two names differ is refused', async t => {
  const events = (event: string, type: string): Buffer[] => [
    Buffer.from(`event: ${event}\ndata: ${JSON.stringify({ type, b64_json: image(7) })}\n\n`),
  ]
  const names = ['image_generation.completed', 'image_generation.partial_image', 'image_edit.completed', 'message']
  for (const event of names)
    for (const type of names) {
      const scanned = scan(new EventScanner(new ByteBudget(1e7)), events(event, type))
      const isPaid = event.endsWith('completed') && type.endsWith('completed')
      t.equal(scanned.done.length, isPaid ? 1 : 0, `${event}, ${type}`)
      const isHandedOut = scanned.out.includes(image(7))
      t.equal(isHandedOut, isPaid || (event === type && event.endsWith('partial_image')), `${event}, ${type}`)
    }
})

t.test('several pictures in one string all count, however it is split', async t => {
  const rows: readonly (readonly [text: string, images: readonly FoundImage[]])[] = [
    [`${image(7)}${image(8)}`, [found(0, 7), found(1, 8)]],
    [`${image(7)},${image(8)}`, [found(0, 7), found(1, 8)]],
    [`${image(7)}\n${image(8)}\n${image(9)}`, [found(0, 7), found(1, 8), found(2, 9)]],
    [`${inline(7)} ${inline(8)}`, [found(0, 7), found(1, 8)]],
    ['https://cdn.example/1.png https://cdn.example/2.png', [link(0), link(1)]],
    [image(7).replaceAll(/.{76}/g, '$&\n'), [found(0, 7)]],
  ]
  for (const [text, images] of rows) {
    t.equal(image(7).endsWith('='), true, 'padding ends it')
    const isLink = text.startsWith('https')
    const described = JSON.stringify({ choices: [{ message: { images: [{ image_url: { url: text } }] } }] })
    const list = JSON.stringify({ data: [isLink || text.startsWith('data:') ? { url: text } : { b64_json: text }] })
    const member = isLink || text.startsWith('data:') ? 'url' : 'b64_json'
    const event = `data: ${JSON.stringify({ type: 'image_generation.completed', [member]: text })}\n\n`
    const output = JSON.stringify({ output: [{ type: 'image_generation_call', id: 'a', result: text }] })
    const scanners: readonly (readonly [string, () => Scanner])[] = [
      [described, () => new DescribedScanner(chat, words)],
      [`data: ${described}\n\n`, () => new DescribedEventScanner(chat, new ByteBudget(1e7), words)],
      [`data: ${described}\n\n`, () => new DescribedEventScanner(chat, new ByteBudget(0), words)],
      [list, () => new ImageScanner()],
      [event, () => new EventScanner(new ByteBudget(1e7))],
      [event, () => new EventScanner(new ByteBudget(0))],
      ...(isLink ? [] : [[output, () => new ToolAnswerScanner()] as const]),
    ]
    for (const [i, [whole, open]] of scanners.entries())
      for (const length of [1, 3, 61, 1_000_000]) {
        const pieces = cut(whole, length).map(piece => Buffer.from(piece))
        const { out, done } = scan(open(), pieces)
        t.same(done, images, caseName({ text: text.slice(0, 60), i, length }))
        t.equal(out, whole, caseName({ i, length }))
      }
  }
})
