import t from 'tap'
import { ImageScanner, type ImageScannerOptions } from '../../plugins/image-tier-billing/scan-images.ts'
import { linkBytesMax, tailBytes } from '../../plugins/image-tier-billing/scan-result.ts'
import { pngHead } from '../harness/image-heads.ts'
import { inPieces, leaveOut } from '../harness/left-out.ts'
import { caseName } from '../harness/case-name.ts'

// Tests the scanner of JSON answers at each of its limits; `image-tier-billing-scan.test.ts` tests it with random
// input.

const picture = (width: number, bytes = 300): string =>
  Buffer.concat([pngHead(width, 10), Buffer.alloc(bytes, 5)]).toString('base64')
const [png, png2] = [picture(100), picture(200)]
const url = `data:image/png;base64,${png2}`

type Told = { readonly out: string; readonly widths: readonly (number | null)[] }

function scan(text: string, step: number, options: ImageScannerOptions = {}): Told {
  const scanner = new ImageScanner(options)
  const bytes = Buffer.from(text)
  const all = Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) =>
    scanner.write(bytes.subarray(i * step, (i + 1) * step)),
  )
  all.push(scanner.end())
  const found = all.flatMap(({ done }) => done)
  if (scanner.count !== found.length) throw new Error(`it counts ${scanner.count} of ${found.length}`)
  return {
    out: Buffer.concat(all.flatMap(({ out }) => out)).toString(),
    widths: found.map(({ size }) => size && size.width),
  }
}

/** The output for each of several pieces in order, and the widths of the images found by then. */
function follow(
  pieces: readonly string[],
  options: ImageScannerOptions = {},
): readonly (readonly [string, ...unknown[]])[] {
  const scanner = new ImageScanner(options)
  return pieces.map(piece => {
    const { out, done } = scanner.write(Buffer.from(piece))
    return [Buffer.concat(out).toString(), ...done.map(({ size }) => size && size.width)]
  })
}

/** A long text is not cut at every byte: that tests nothing that a short one does not. */
const stepsOf = (text: string): readonly number[] => (text.length > 50_000 ? [1e9, 999] : [1e9, 7, 1])

const passing: readonly (readonly [string, string, readonly (number | null)[]])[] = [
  [
    'an image, and a picture as a link in the next element',
    `{"data":[{"b64_json":"${png}"},{"url":"${url}"}]}`,
    [100, 200],
  ],
  [
    'a picture as a link, and an image in the next element',
    `{"data":[{"url":"${url}"},{"b64_json":"${png}"}]}`,
    [200, 100],
  ],
  [
    'links of three elements',
    '{"data":[{"url":"https://x"},{"url":"https://x"},{"url":"https://y"}]}',
    [null, null, null],
  ],
  [
    'an image with a link, and a link alone',
    `{"data":[{"b64_json":"${png}","url":"https://x"},{"url":"https://x"}]}`,
    [100, null],
  ],
  ['a link of 64 KiB', `{"data":[{"url":"https://${'x'.repeat(linkBytesMax - 8)}"}]}`, [null]],
  [
    'a link told before and behind its image',
    '{"images":[{"url":"https://x"}],"data":[{"url":"https://x"}],"l":"https://x"}',
    [null],
  ],
  [
    'an element behind one that has none',
    `{"data":[{"b64_json":null},{"b64_json":"","url":""},{"b64_json":"${png}"}]}`,
    [100],
  ],
  ['a refusal that is a number', '{"error":404,"status":"failed"}', []],
  ['a refusal that is an object', '{"status":"failed","error":{}}', []],
  ['a refusal that is a text', '{"error":"no","status":"failed"}', []],
  ['numbers and no list', '{"created":1}', []],
]
for (const [name, text, widths] of passing)
  t.test(`an answer passes unchanged, and its images are found: ${name}`, async t => {
    for (const step of stepsOf(text)) t.same(scan(text, step), { out: text, widths }, `${step} bytes at once`)
  })

const far = 'a'.repeat(linkBytesMax)
const refused: readonly (readonly [string, string, string])[] = [
  ['two links', '{"data":[{"url":"https://x","url":"https://y"}]}', 'data[].url twice'],
  ['two images', `{"data":[{"b64_json":"${png}","b64_json":"${png2}"}]}`, 'data[].b64_json twice'],
  [
    'an image, and a link that is another',
    `{"data":[{"b64_json":"${png}","url":"${url}"}]}`,
    'data[].url (a second picture)',
  ],
  [
    'a link that is an image, and another',
    `{"data":[{"url":"${url}","b64_json":"${png}"}]}`,
    'data[].b64_json (a second picture)',
  ],
  [
    'an image, and a link with another in it',
    `{"data":[{"b64_json":"${png}","url":"see ${url}"}]}`,
    'data[].url (a second picture)',
  ],
  [
    'a link with an image in it, and another',
    `{"data":[{"url":"see ${url}","b64_json":"${png}"}]}`,
    'data[].b64_json (a second picture)',
  ],
  ['a link of more than 64 KiB', `{"data":[{"url":"https://${far}"}]}`, 'data[].url (longer than any link)'],
  [
    'such a link beside an image',
    `{"data":[{"b64_json":"${png}","url":"see ${url}${far}"}]}`,
    'data[].url (longer than any link)',
  ],
  [
    'such a link before an image',
    `{"data":[{"url":"see ${url}${far}","b64_json":"${png}"}]}`,
    'data[].url (longer than any link)',
  ],
  ['two lists', `{"data":[{"b64_json":"${png}"}],"data":[]}`, 'two members data'],
  ['an object for a list', '{"data":{}}', 'data as an object'],
  ['no object', `["${png}"]`, 'no JSON object'],
  ['something behind the object', '{"data":[]}1', 'data after the JSON object'],
  ['a link of no image', '{"data":[{"url":"https://x"}],"more":"https://y"}', 'more (a link)'],
  [
    'a link beside bytes, told again',
    `{"data":[{"b64_json":"${png}","url":"https://x"}],"more":"https://x"}`,
    'more (a link)',
  ],
  ['words and no list', '{"id":"job-1","status":"queued"}', 'no image, and no list of them'],
  ['words, no list and no refusal', '{"error":null,"status":"queued"}', 'no image, and no list of them'],
  ['no error but deeper', '{"job":{"error":"x"},"status":"queued"}', 'no image, and no list of them'],
  ['words of nobody knows what', '{"data":[],"job":"x-1"}', 'no image, but job'],
]
for (const [name, text, shape] of refused)
  t.test(`an answer is altered, with the reason: ${name}`, async t => {
    for (const step of stepsOf(text)) {
      const result = leaveOut(new ImageScanner(), inPieces(text, step))
      t.equal(result.shape, shape, `${step} bytes at once`)
      // If an image was found, everything else passes: nothing is charged and withheld.
      t.equal(result.isRefused, result.images === 0, `${step} bytes at once`)
    }
  })

// Enough images to allow this many blanks next to them.
const thirteen = '{"b64_json":"AAAA"},'.repeat(13)
const broken: readonly (readonly [string, string, ImageScannerOptions, RegExp])[] = [
  ['it ends in an element', `{"data":[{"b64_json":"${png}"}`, {}, /ends before its JSON does/],
  ['it is no JSON', '{"data":[,]}', {}, /unexpected comma/],
  ['nothing, where its end is not told', '', { endUnknown: true }, /whether it is whole/],
  ['blanks, where its end is not told', ' \n', { endUnknown: true }, /whether it is whole/],
  [
    'blanks behind a name without end',
    `{"data":[${thirteen}{"b64_json"${' '.repeat(linkBytesMax + 2_000)}:""}]}`,
    { asUrl: true },
    /blanks do not end/,
  ],
  [
    'blanks before a value without end',
    `{"data":[${thirteen}{"url":${' '.repeat(linkBytesMax + 2_000)}""}]}`,
    { asUrl: true },
    /blanks do not end/,
  ],
]
for (const [name, text, options, message] of broken)
  t.test(`an answer is malformed: ${name}`, async t => {
    for (const step of stepsOf(text).slice(1))
      t.throws(() => scan(text, step, options), { name: 'Unreadable', message }, caseName({ step }))
  })

t.test('known content of an answer does not increase the allowance for unknown content', async t => {
  const prompt = 'a boat '.repeat(3_000)
  const text = `{"data":[{"revised_prompt":"${prompt}","b64_json":"${picture(100, 9_000)}"}]${' '.repeat(30_000)}}`
  for (const step of stepsOf(text)) {
    const { out } = leaveOut(new ImageScanner(), inPieces(`${text.slice(0, -1)},"b":7,"c":"word"}`, step))
    t.equal(out.replaceAll(' ', '').slice(-15), '],"_":0,"_":""}', caseName({ step }))
  }
})

t.test('without a marked end, a closing object is the end', async t => {
  const text = `{"data":[{"b64_json":"${png}"}]}`
  for (const step of stepsOf(text)) t.equal(scan(text, step, { endUnknown: true }).out, text, caseName({ step }))
})

t.test('without images nothing is delivered before the end', async t => {
  t.same(follow(['{"created":1,', '"data":[', ']', '}']), [[''], [''], [''], ['']])
  t.equal(scan('{"created":1,"data":[]}', 3).out, '{"created":1,"data":[]}')
})

t.test('all but the last 4 KiB of an image pass as they arrive, with what precedes it', async t => {
  const long = picture(100, 12_000)
  const head = '{"created":1,"data":[{"b64_json":"'
  const [first, rest] = [long.slice(0, tailBytes), long.slice(tailBytes)]
  t.same(follow([head, first, rest.slice(0, 1), rest.slice(1, 11), rest.slice(11), '"', ',"seed":7', '}]}']), [
    [''],
    [''],
    [head + long.slice(0, 1)],
    [long.slice(1, 11)],
    [long.slice(11, -tailBytes)],
    [`${long.slice(-tailBytes)}"`, 100],
    [',"seed":'],
    ['7}]}'],
  ])
})

t.test('[13.5] a large piece of an image passes unchanged, and is held whole while the tail begins in it', async t => {
  const long = picture(100, 90_000)
  const head = '{"created":1,"data":[{"b64_json":"'
  const pieces = [head + long.slice(0, 20_000), long.slice(20_000, 50_000), long.slice(50_000, 90_000)].map(text =>
    Buffer.from(text),
  )
  const [, second, third] = pieces
  const scanner = new ImageScanner()
  const out = pieces.map(piece => scanner.write(piece).out)
  t.equal(String(out[0]), head + long.slice(0, 20_000 - tailBytes), 'text before the image does not wait')
  t.equal(String(out[1]), long.slice(20_000 - tailBytes, 20_000))
  t.equal(out[2]?.length, 1)
  t.equal(out[2]?.[0], second, 'the very piece, no copy and no part of it')
  const rest = scanner.write(Buffer.from(`${long.slice(90_000)}"}]}`))
  t.equal(rest.out[0], third)
  t.equal(String(Buffer.concat(rest.out)), `${long.slice(50_000)}"}]}`)
  t.match(rest.done, [{ kind: 'bytes' }])
})

t.test('[13.5] a large piece that ends an image is not held for the next one', async t => {
  const long = picture(100, 90_000)
  const open = '{"created":1,"data":[{"b64_json":"'
  const scanner = new ImageScanner()
  scanner.write(Buffer.from(open + long.slice(0, 40_000)))
  const { out, done } = scanner.write(Buffer.from(`${long.slice(40_000)}"},{"b64_json":"${long.slice(0, 10_000)}`))
  t.equal(done.length, 1)
  t.equal(
    String(Buffer.concat(out)),
    `${long.slice(40_000 - tailBytes)}"},{"b64_json":"${long.slice(0, 10_000 - tailBytes)}`,
  )
})

t.test(
  'a link is delivered with the end of its element, and what precedes it does not wait for the first image',
  async t => {
    t.same(
      follow(['{"data":[{"url":"https://', 'x"', ',"seed":1', '},', '{"seed":2,"url":"htt', 'ps://y"', '}', ']}']),
      [
        [''],
        [''],
        [''],
        ['{"data":[{"url":"https://x","seed":1},', null],
        ['{"seed":2,"url":'],
        ['"'],
        ['https://y"}', null],
        [']}'],
      ],
    )
  },
)

t.test('an image after its link is found as soon as its size is known', async t => {
  const long = picture(100, 30_000)
  const results = follow([
    '{"data":[{"url":"https://x"',
    `,"b64_json":"${long.slice(0, 2_000)}`,
    `${long.slice(2_000)}"}]}`,
  ])
  t.same(
    results.map(([, ...widths]) => widths),
    [[], [100], []],
  )
  t.equal(results.map(([out]) => out).join(''), `{"data":[{"url":"https://x","b64_json":"${long}"}]}`)
})

t.test('a link next to its image waits for its own end, and its element is not counted again', async t => {
  t.same(follow([`{"data":[{"b64_json":"${png}"`, ',"url":"https://', 'x', '"', '}', ']}']), [
    [`{"data":[{"b64_json":"${png}"`, 100],
    [',"url":'],
    [''],
    ['"https://x"'],
    ['}'],
    [']}'],
  ])
})

t.test('a link counts by itself if the image has not arrived within 64 KiB', async t => {
  const head = '{"data":[{"url":"'
  const link = 'https://x","revised_prompt":"'
  const words = 'ab '.repeat(30_000).slice(0, linkBytesMax - link.length)
  const results = follow([head + link, words, 'c', `","b64_json":"${png}"}]}`])
  t.same(
    results.map(([, ...widths]) => widths),
    [[], [], [null], []],
  )
  t.equal(
    results
      .slice(0, 2)
      .map(([out]) => out)
      .join(''),
    '',
  )
  t.equal(results.map(([out]) => out).join(''), `${head}${link}${words}c","b64_json":"${png}"}]}`)
})

t.test('a text next to an image waits until it is verified', async t => {
  t.same(follow([`{"data":[{"b64_json":"${png}"}],"note":"a b`, 'oat"', '}']), [
    [`{"data":[{"b64_json":"${png}"}],"note":`, 100],
    ['"a boat"'],
    ['}'],
  ])
})

t.test('as a link: a name waits until its value has begun, and changes in every element', async t => {
  const open = { asUrl: true }
  t.same(follow([`{"data":[{"b64_json":"${png}","a":1,"ur`, 'l"', ':', 'null', '}]}'], open).slice(1), [
    [''],
    [''],
    [''],
    ['"b64_json":null}]}'],
  ])
  const two = `{"data":[{"b64_json":"${png}"},{"b64_json":"${png2}"}]}`
  const out = `{"data":[{"url":"data:image/png;base64,${png}"},{"url":"${url}"}]}`
  for (const step of stepsOf(two)) t.same(scan(two, step, open), { out, widths: [100, 200] }, caseName({ step }))
  const plain = `{"url":null,"data":[{"seed":null,"url":"${url}"}]}`
  for (const step of stepsOf(plain)) t.equal(scan(plain, step, open).out, plain, caseName({ step }))
})
