import t from 'tap'
import { EventScanner } from '../../plugins/image-tier-billing/scan-events.ts'
import { afterImageBytesMax, linkBytesMax, tailBytes } from '../../plugins/image-tier-billing/scan-result.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { inPieces, leaveOut } from '../harness/left-out.ts'
import { pngHead } from '../harness/image-heads.ts'

// Tests the scanner of event streams at each of its limits; `image-tier-billing-scan.test.ts` tests it with random
// input.

const picture = (width: number, bytes = 300): string =>
  Buffer.concat([pngHead(width, 10), Buffer.alloc(bytes, 5)]).toString('base64')
const [png, png2] = [picture(100), picture(200)]
const url = `data:image/png;base64,${png2}`

const data = (members: string, event = ''): string => `${event && `event: ${event}\n`}data: {${members}}\n\n`
const finished = 'image_generation.completed'
const preview = 'image_edit.partial_image'
const image = `"b64_json":"${png}"`
/** A finished image, with other data next to it. */
const done = (more = '', members = image): string => data(`${members}${more}`, finished)

/** A long text is not cut at every byte: that tests nothing that a short one does not. */
const stepsOf = (text: string): readonly number[] => (text.length > 50_000 ? [1e9, 999] : [1e9, 7, 1])
const rooms = [1e9, 0]

function scan(text: string, step: number, room: number): { out: string; widths: readonly (number | null)[] } {
  const scanner = new EventScanner(new ByteBudget(room))
  const bytes = Buffer.from(text)
  const all = Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) =>
    scanner.write(bytes.subarray(i * step, (i + 1) * step)),
  )
  all.push(scanner.end())
  return {
    out: Buffer.concat(all.flatMap(({ out }) => out)).toString(),
    widths: all.flatMap(({ done }) => done.map(({ size }) => size && size.width)),
  }
}

/** The output for each of several pieces in order, and the widths of the images found by then. */
function follow(pieces: readonly string[], room: number): readonly (readonly [string, ...unknown[]])[] {
  const scanner = new EventScanner(new ByteBudget(room))
  return pieces.map(piece => {
    const { out, done } = scanner.write(Buffer.from(piece))
    return [Buffer.concat(out).toString(), ...done.map(({ size }) => size && size.width)]
  })
}

const passing: readonly (readonly [string, string, readonly (number | null)[]])[] = [
  ['a preview by its name alone', data(image, preview), []],
  ['a preview by its type alone', data(`"type":"${preview}",${image}`), []],
  ['a preview by both', data(`"type":"image_generation.partial_image",${image}`, preview), []],
  ['a type that is deeper is none', data(`"usage":{"type":"${preview}"},${image}`, finished), [100]],
  ['a preview, an image, a preview', data(image, preview) + done() + data(image, preview), [100]],
  ['a name that is told twice', `event: ${finished}\nevent: ${finished}\ndata: {${image}}\n\n`, [100]],
  ['a link', done('', '"url":"https://x"'), [null]],
  ['a link of 64 KiB', done('', `"url":"https://${'x'.repeat(linkBytesMax - 8)}"`), [null]],
  ['a link that is a picture', done('', `"url":"${url}"`), [200]],
  ['a link before its image', done('', `"url":"https://x",${image}`), [100]],
  ['a link behind its image', done(',"url":"https://x"'), [100]],
  ['a picture as a link, then an image', done('', `"url":"${url}"`) + done(), [200, 100]],
  ['an image, then a picture as a link', done() + done('', `"url":"${url}"`), [100, 200]],
  ['images and links that are empty', done('', '"b64_json":"","url":""') + done(',"url":""'), [100]],
  ['a refusal', data('"error":{"code":"x"},"job":"y"'), []],
  ['words of nobody knows what beside an image', data('"job":"y"') + done() + data('"job":"z"'), [100]],
  ['many numbers, a few in each event', data('"n":[1,2,3]').repeat(100), []],
  ['the end in words', `${done()}data:  [DONE] \n\n`, [100]],
  ['the end in words, in two lines', 'data:\ndata: [DONE]\n\n', []],
  ['256 characters in a comment', `: ${'a '.repeat(127)}ab\n\n`, []],
  ['blanks around a comment', `:${' '.repeat(600)}a${' '.repeat(600)}\n\n`, []],
]
for (const [name, text, widths] of passing)
  t.test(`a stream passes unchanged, and its images are detected: ${name}`, async t => {
    for (const room of rooms)
      for (const step of stepsOf(text))
        t.same(scan(text, step, room), { out: text, widths }, `${step} at once, room ${room}`)
  })

const numbered: readonly (readonly [string, string, number])[] = [
  ['no number', '', 2],
  ['a number', ',"index":3', 1],
  ['a number of the other name', ',"image_index":3', 1],
  ['a number as a text', ',"index":"3"', 1],
  ['nothing as a number', ',"index":null', 2],
  ['an empty number', ',"index":""', 2],
  ['a number that is deeper', ',"usage":{"index":3}', 2],
  ['a text that is deeper', ',"usage":{"index":"3"}', 2],
  ['another number', ',"sequence_number":3', 2],
  ['another text', ',"background":"opaque"', 2],
]
for (const [name, more, count] of numbered)
  t.test(`the same bytes twice, each with ${name}: ${count === 1 ? 'one image' : 'two images'}`, async t => {
    t.equal(scan(done(more).repeat(2), 9, 1e9).widths.length, count)
  })

t.test('images are distinguished by number and bytes, and by both numbers if they have two', async t => {
  const count = (...more: readonly string[]) => scan(more.map(one => done(one)).join(''), 9, 1e9).widths.length
  t.equal(count(',"index":0,"image_index":1', ',"index":0,"image_index":2'), 2)
  t.equal(count(',"index":0,"image_index":1', ',"index":2,"image_index":1'), 2)
  t.equal(count(',"index":0,"image_index":1', ',"index":0,"image_index":1'), 1)
  t.equal(count(',"index":0', '', ''), 3, 'an image without a number is never a repetition')
  t.equal(scan(done(',"index":0') + done(',"index":0', `"b64_json":"${png2}"`), 9, 1e9).widths.length, 2)
  const links = ['https://x', 'https://x', 'https://y'].map(link => done(',"index":0', `"url":"${link}"`))
  t.equal(scan(links.join(''), 9, 1e9).widths.length, 2, 'links too')
})

const blanks = ' '.repeat(260)
const secondUrl = 'url (a second picture)'
const secondBytes = 'b64_json (a second picture)'
const refused: readonly (readonly [string, string, string])[] = [
  ['an image of another kind', data(image, 'ping'), "an image in an event 'ping'"],
  ['an image of another type', data(`"type":"ping",${image}`, preview), `an event '${preview}' of type 'ping'`],
  ['an image of no kind', data(image), "an image in an event ''"],
  [
    'an image whose usage is of a finished type',
    data(`"usage":{"type":"${finished}"},${image}`),
    "an image in an event ''",
  ],
  ['many numbers in one event', data(`"n":[${'1,'.repeat(300)}1]`), 'no image, but n[] (more than 256 numbers)'],
  ['a link as a name of a member', data('"https://x":1'), 'https://x (a link as a name)'],
  ['a long name of a member', data(`"${'n'.repeat(191)}":1`), `${'n'.repeat(120)}…`],
  ['a link as a preview', data('"url":"https://x"', preview), `an image in an event '${preview}'`],
  ['a picture as a link as a preview', data(`"url":"${url}"`, preview), `an image in an event '${preview}'`],
  ['an image, and a link that is another', done(`,"url":"${url}"`), secondUrl],
  ['a link that is an image, and another', done('', `"url":"${url}",${image}`), secondBytes],
  ['an image, and a link with another in it', done(`,"url":"see ${url}"`), secondUrl],
  ['a link with an image in it, and another', done('', `"url":"see ${url}",${image}`), secondBytes],
  ['a link of more than 64 KiB', done('', `"url":"https://${'x'.repeat(linkBytesMax)}"`), 'url (longer than any link)'],
  ['such a link beside an image', done(`,"url":"see ${url}${'x'.repeat(linkBytesMax)}"`), 'url (longer than any link)'],
  ['two types', data('"type":"a","type":"b"'), 'an event with two members type'],
  ['two images', done(`,"b64_json":"${png2}"`), 'an event with two members b64_json'],
  ['two links', done('', '"url":"https://x","url":"https://x"'), 'an event with two members url'],
  ['two errors', data('"error":{},"error":{}'), 'an event with two members error'],
  ['two numbers', done(',"index":1,"index":1'), 'an event with two members index'],
  ['two numbers of the other name', done(',"image_index":1,"image_index":1'), 'an event with two members image_index'],
  ['two names', `event: ping\nevent: ${finished}\ndata: {${image}}\n\n`, 'an event of two names'],
  ['a line that no event has', 'hello: x\n\n', "a line 'hello', which no event has"],
  ['a long one', `${'hello'.repeat(20)}: x\n\n`, `a line '${'hello'.repeat(8)}', which no event has`],
  ['a long comment', `: ${'a '.repeat(128)}a\n\n`, 'more than 256 characters in a line that is no data'],
  [
    'a picture behind the blanks of a comment',
    `: a${blanks}${png}\n\n`,
    'more than 256 characters in a line that is no data',
  ],
  [
    'a picture behind the blanks of a name',
    `event: a${blanks}${png}\n\n`,
    'more than 256 characters in a line that is no data',
  ],
  ['a link as an id', 'id: https://x\n\n', "a link or a picture in a line 'id'"],
  ['a picture in a comment', `: ${picture(64, 30)}\n\n`, "a link or a picture in a line ''"],
  ['a text as data', 'data: done\n\n', 'an event whose data is no JSON object'],
  ['a picture behind the last words', `data: [DONE]${blanks}${png}\n\n`, 'an event whose data is no JSON object'],
  [
    'a picture in the line behind the last words',
    `data: [DONE]\ndata: ${png}\n\n`,
    'an event whose data is no JSON object',
  ],
  ['something behind the object', 'data: {}1\n\n', 'data after the JSON object of an event'],
  ['a link of no image', data('"more":"https://x"', finished), 'more (a link)'],
  ['a link that is told again', done(',"more":"https://x"', '"url":"https://x"'), 'more (a link)'],
  ['words of nobody knows what', data('"job":"x"') + data('"work":"y"'), 'no image, but job'],
  ['such words beside a refusal', data('"error":{},"job":"x"') + data('"work":"y"'), 'no image, but work'],
]
for (const [name, text, shape] of refused)
  t.test(`a stream is altered, with the reason: ${name}`, async t => {
    for (const room of rooms)
      for (const step of stepsOf(text))
        t.equal(
          leaveOut(new EventScanner(new ByteBudget(room)), inPieces(text, step)).shape,
          shape,
          `${step} at once, room ${room}`,
        )
  })

const comments = ': keep-alive\n'.repeat(Math.ceil((afterImageBytesMax + tailBytes) / 13))
const broken: readonly (readonly [string, string, number, RegExp])[] = [
  ['an event ends in its JSON', `event: ${finished}\ndata: {${image}\n\n`, 1e9, /ends before its JSON does/],
  ['the stream ends in an event', `event: ${finished}\ndata: {${image}`, 1e9, /ends before its JSON does/],
  ['it is no JSON', 'data: {,}\n\n', 1e9, /unexpected comma/],
  ['an image does not end for 1 MiB', done().slice(0, -1) + comments, 0, /an event with an image does not end/],
]
for (const [name, text, room, message] of broken)
  t.test(`a stream is malformed: ${name}`, async t => {
    t.throws(() => scan(text, 9_999, room), { name: 'Unreadable', message })
  })

t.test('an event is delivered at its end, with the charges of its images', async t => {
  const text = done()
  t.same(follow([text.slice(0, 40), text.slice(40, -1), '\n', text.slice(0, -1), `\n${text.slice(0, 9)}`], 1e9), [
    [''],
    [''],
    [text, 100],
    [''],
    [text, 100],
  ])
})

t.test('without memory all but the last 4 KiB of an image are delivered, and what follows waits', async t => {
  const long = picture(100, 30_000)
  const head = `event: ${finished}\ndata: {"b64_json":"`
  t.same(follow([head, long.slice(0, 5_000), long.slice(5_000), '","seed":7', '}\n', '\n', ': a'], 0), [
    [head],
    [long.slice(0, 5_000 - tailBytes)],
    [long.slice(5_000 - tailBytes, -tailBytes)],
    [''],
    [''],
    [`${long.slice(-tailBytes)}","seed":7}\n\n`, 100],
    [': a'],
  ])
})

t.test('without memory a link waits whole, also for the image that follows it', async t => {
  const head = `event: ${finished}\ndata: {"url":"`
  t.same(follow([head, 'https://', 'x"', '}\n', '\n'], 0), [[head], [''], [''], [''], ['https://x"}\n\n', null]])
  const long = `https://x/${'y'.repeat(2 * tailBytes)}`
  t.same(follow([head, long, '"}\n', '\n'], 0), [[head], [''], [''], [`${long}"}\n\n`, null]])
  const text = `https://x",${image}}\n`
  t.same(follow([head, text.slice(0, 40), text.slice(40), '\n'], 0), [[head], [''], [''], [`${text}\n`, 100]])
})

t.test('without memory a text waits until it is verified', async t => {
  t.same(follow(['data: {"note":"a b', 'oat"', '}\n\n'], 0), [['data: {"note":'], ['"a boat"'], ['}\n\n']])
})
