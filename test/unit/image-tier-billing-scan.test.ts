import t from 'tap'
import { EventScanner } from '../../plugins/image-tier-billing/scan-events.ts'
import { ImageScanner } from '../../plugins/image-tier-billing/scan-images.ts'
import { type FoundImage, type ScanResult, tailBytes } from '../../plugins/image-tier-billing/scan-result.ts'
import { readEvents } from '../fuzz/readers/read-events.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { avifHead, gifHead, jpegHead, pngHead, webpHead } from '../harness/image-heads.ts'
import { inPieces, leaveOut } from '../harness/left-out.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, seeded } from '../harness/seed.ts'

const documents = Number(process.env['FUZZ'] ?? 800)

type Random = () => number
const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const whole = (random: Random, below: number): number => Math.floor(random() * below)

const unreadable = { name: 'Unreadable' }
const unrecognised = { name: 'Unrecognised' }

/** An image that the generator put into a document. */
type Planted = {
  /** Its text in the document, between the quotes. */
  readonly raw: string
  readonly size: FoundImage['size']
  readonly kind: FoundImage['kind']
}

function base64(random: Random, head: Buffer, bytes: number): string {
  const rest = Buffer.allocUnsafe(Math.max(0, bytes - head.length))
  for (let i = 0; i < rest.length; i++) rest[i] = random() * 256
  return Buffer.concat([head, rest]).toString('base64')
}

function someImage(random: Random): Planted {
  const width = 1 + whole(random, 4000)
  const height = 1 + whole(random, 4000)
  const head = pick(random, [
    () => pngHead(width, height),
    () => jpegHead(width, height),
    () => webpHead('VP8X', width, height),
    () => gifHead(width, height),
    () => avifHead(width, height),
  ])()
  // Fewer bytes could not carry the size in the head.
  const least = Math.ceil((width * height) / 4096)
  const bytes = Math.max(least, pick(random, [500, 1000, 3071, 3072, 3073, 5_000, 20_000, 90_000]))
  let raw = base64(random, head, bytes)
  if (random() < 0.2) raw = raw.replaceAll('/', '\\/')
  if (random() < 0.1) raw = raw.replaceAll('A', '\\u0041')
  return { raw, size: { width, height }, kind: 'bytes' }
}

function someLink(random: Random): Planted {
  const raw = `https:\\/\\/images.example\\/${whole(random, 1e9)}${base64(random, Buffer.alloc(0), whole(random, 4500))}.png?a=\\"b\\"`
  return { raw, size: null, kind: 'link' }
}

const blanks = (random: Random): string => pick(random, ['', '', '', ' ', '\n', '\r\n\t  '])
/** A name, some of its characters escaped. */
function named(random: Random, name: string): string {
  if (random() < 0.7) return `"${name}"`
  const chars = name
    .split('')
    .map(char => (random() < 0.5 ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`))
  return `"${chars.join('')}"`
}

/** Values in which names and brackets have no meaning, and that cannot be an image. */
function decoy(random: Random): string {
  return pick(random, [
    '"a boat"',
    '"\\\\"',
    '"\\\\\\""',
    '"{\\"data\\":[{\\"b64_json\\":\\"AAAA\\"}]}"',
    '{"b64_json":"nested","url":"nested"}',
    '[{"b64_json":"nested"},[[]],{}]',
    '{"data":[{"b64_json":"nested"}]}',
    'null',
    'true',
    '-1.5e3',
    '""',
    `"${'\\"'.repeat(whole(random, 50))}"`,
    '{}',
    '[]',
  ])
}

function element(random: Random, planted: Planted[]): string {
  const image = random() < 0.25 ? someLink(random) : someImage(random)
  const name = image.kind === 'link' ? 'url' : 'b64_json'
  const other = image.kind === 'link' ? 'b64_json' : 'url'
  const members = [
    `${named(random, name)}${blanks(random)}:${blanks(random)}"${image.raw}"`,
    `"revised_prompt":${decoy(random)}`,
  ]
  const kind = random()
  if (kind < 0.15) members[0] = `${named(random, name)}:${pick(random, ['null', '""', '{}', '["iVBORw0KGgo"]', '12'])}`
  else planted.push(image)
  if (random() < 0.3) members.push(`${named(random, other)}${blanks(random)}:${pick(random, ['null', '""', ' null'])}`)
  if (random() < 0.3) members.reverse()
  return `{${blanks(random)}${members.join(`${blanks(random)},${blanks(random)}`)}${blanks(random)}}`
}

/** With at least this many images. */
function someDocument(random: Random, least: number): { readonly text: string; readonly planted: readonly Planted[] } {
  const planted: Planted[] = []
  const list = (): string => {
    // Values that would be an element with an image of their own are omitted.
    const other = (): string => pick(random, ['"a"', 'null', '1', '[{"b64_json":"nested"}]', '{}', '{"a":{"url":"x"}}'])
    const elements: string[] = []
    while (elements.length < 4 && (planted.length < least || random() < 0.7))
      elements.push(random() < 0.1 ? other() : element(random, planted))
    while (planted.length < least) elements.push(element(random, planted))
    return `[${blanks(random)}${elements.join(`${blanks(random)},`)}]`
  }
  const members = [`"created":1789`, `"usage":${decoy(random)}`]
  members.splice(whole(random, 3), 0, `${named(random, 'data')}${blanks(random)}:${blanks(random)}${list()}`)
  if (random() < 0.1) members.push(`"data2":${decoy(random)}`)
  return {
    text: `${pick(random, ['', '\n', '\ufeff'])}{${members.join(`,${blanks(random)}`)}}${blanks(random)}`,
    planted,
  }
}

/** The number of characters of an image that may be sent before its charge. */
const heldFrom = (raw: string): number => Math.max(0, raw.length - tailBytes)

/**
 * Runs a scanner over randomly cut bytes, and checks after every piece that no image's end was sent before its charge.
 */
function run(
  scanner: { write(chunk: Buffer): ScanResult; end(): ScanResult },
  bytes: Buffer,
  cut: () => number,
  planted: readonly Planted[],
  changed = false,
): { readonly out: string; readonly done: readonly FoundImage[] } {
  const out: Buffer[] = []
  const done: FoundImage[] = []
  // How far the answer may be sent while an image is not charged. If the answer is changed on its way, positions are
  // unknown, and the test searches for a stretch of the held end instead (one that no other image has).
  const limits = planted.map(({ raw }) => bytes.indexOf(raw) + heldFrom(raw))
  const ends = planted.map(({ raw }) => raw.slice(Math.max(heldFrom(raw), raw.length - 160)).slice(0, 48))
  let went = 0
  let tail = ''
  const take = (scanned: ScanResult): void => {
    done.push(...scanned.done)
    for (const piece of scanned.out) {
      out.push(piece)
      went += piece.length
      if (!changed) {
        if (went > (limits[done.length] ?? Infinity)) throw new Error(`image ${done.length} went before its charge`)
        continue
      }
      const seen = tail + piece.toString('latin1')
      // A shorter stretch may be the end of any link.
      if (ends.slice(done.length).some(end => end.length > 24 && seen.includes(end)))
        throw new Error('an end went early')
      tail = seen.slice(-64)
    }
  }
  for (let at = 0; at < bytes.length; ) {
    const to = at + cut()
    take(scanner.write(bytes.subarray(at, to)))
    at = to
  }
  take(scanner.end())
  return { out: Buffer.concat(out).toString(), done }
}

const cuts = (random: Random): (() => number) => {
  const most = pick(random, [1, 7, 100, 1460, 5_000, 65_536])
  return most === 1 ? () => 1 : () => 1 + whole(random, most)
}

t.test('every image of an answer is found once, and its last 4 KiB wait for its charge', async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  let images = 0
  for (let i = 0; i < documents; i++) {
    const { text, planted } = someDocument(random, 1)
    // Cutting a large document at every byte is slow and tests nothing that a small one does not.
    const cut = text.length > 30_000 ? (): number => 1 + whole(random, 65_536) : cuts(random)
    const { out, done } = run(new ImageScanner({ asUrl: false }), Buffer.from(text), cut, planted)
    if (out !== text) t.fail(`document ${i} is not what came`)
    const expected = planted.map(({ kind, size }, index) => ({ index, kind, size }))
    if (JSON.stringify(done) !== JSON.stringify(expected)) t.same(done, expected, `document ${i}`)
    images += done.length
  }
  t.ok(images > documents, `${images} images in ${documents} documents`)
})

t.test('an answer rendered as links has the same content in data: URLs, and holds the same ends', async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed + 1)
  let images = 0
  for (let i = 0; i < documents; i++) {
    const { text, planted } = someDocument(random, 1)
    const cut = text.length > 30_000 ? (): number => 1 + whole(random, 65_536) : cuts(random)
    const { out, done } = run(new ImageScanner({ asUrl: true }), Buffer.from(text), cut, planted, true)
    if (done.length !== planted.length) t.equal(done.length, planted.length, `document ${i}`)
    const urls = urlsOf(out)
    const expected = urlsOf(text).map((url, at) => url ?? dataUrl(elementsOf(text)[at]?.['b64_json']))
    if (JSON.stringify(urls) !== JSON.stringify(expected)) t.same(urls, expected, `document ${i}`)
    images += done.length
  }
  t.ok(images > documents / 2, `${images} images in ${documents} documents`)
})

type Element = { readonly [name: string]: unknown }

function elementsOf(text: string): Element[] {
  const { data } = JSON.parse(text.replace(/^\ufeff/, '')) as { data: unknown[] }
  return data.map(value =>
    value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Element) : {},
  )
}

function urlsOf(text: string): (string | null)[] {
  return elementsOf(text).map(({ url }) => (typeof url === 'string' && url !== '' ? url : null))
}

function dataUrl(content: unknown): string | null {
  if (typeof content !== 'string' || content === '') return null
  const head = Buffer.from(content, 'base64').subarray(0, 12).toString('latin1')
  const type = head.startsWith('\x89PNG')
    ? 'png'
    : head.startsWith('GIF')
      ? 'gif'
      : head.startsWith('RIFF')
        ? 'webp'
        : head.includes('avif')
          ? 'avif'
          : 'jpeg'
  return `data:image/${type};base64,${content}`
}

/** The text in one piece, and byte by byte. */
function scanBoth(text: string, asUrl = false): { out: string; done: readonly FoundImage[] } {
  const bytes = Buffer.from(text)
  const one = run(new ImageScanner({ asUrl }), bytes, () => bytes.length, [])
  const many = run(new ImageScanner({ asUrl }), bytes, () => 1, [])
  t.same(one, many, 'at once and byte by byte are the same')
  return one
}

const png = Buffer.concat([pngHead(1254, 1254), Buffer.alloc(200)]).toString('base64')
const png2 = pngHead(2500, 10).toString('base64')

t.test('an element counts once, whatever it has', async t => {
  const rows: [string, string, number][] = [
    ['both a link and the image', `{"data":[{"url":"https://x","b64_json":"${png}"}]}`, 1],
    ['the image and then a link', `{"data":[{"b64_json":"${png}","url":"https://x"}]}`, 1],
    ['two elements', `{"data":[{"b64_json":"${png}"},{"url":"https://x"}]}`, 2],
    ['data with escapes', `{"d\\u0061ta":[{"b64\\u005fjson":"${png}"}]}`, 1],
    ['a prompt that names a link', `{"data":[{"url":"https://x","revised_prompt":"as at https://y"}]}`, 1],
    [
      'links told twice',
      '{"images":[{"url":"https://x"}],"seed":1,"data":[{"url":"https:\\/\\/x"}],"again":["https://x"]}',
      1,
    ],
    ['what vendors tell beside it', `{"id":"r-1","x":"y","data":[{"url":"https://x","seed":7,"mark":"a1"}]}`, 1],
  ]
  for (const [what, text, count] of rows) {
    const { out, done } = scanBoth(text)
    t.equal(done.length, count, what)
    t.equal(out, text, caseName({ what, text, count }))
  }
})

t.test('an answer without a byte is refused as empty', t => {
  const nothing = { name: 'Unrecognised', isNothing: true }
  for (const text of ['', ' \n']) t.throws(() => scanBoth(text), nothing, caseName({ text }))
  t.end()
})

t.test('[6.2] content that is known to hold no image passes', async t => {
  const rows: [string, string][] = [
    ['no element', '{"data":[]}'],
    ['no element, with what vendors tell', '{"created":1,"model":"m","data":[],"usage":{"total_tokens":0}}'],
    ['no list', '{"data":null}'],
    ['an empty element', '{"data":[{}]}'],
    ['a text alone', '{"data":[{"revised_prompt":"b64_json"}]}'],
    ['an empty image', '{"data":[{"b64_json":""}]}'],
    ['nulls', '{"data":[{"b64_json":null,"url":null}]}'],
    ['an error for each', '{"data":[{"error":{"code":"OutputImageSensitive","message":"see https://docs.example"}}]}'],
    ['an error in a 200', '{"error":{"message":"no, see https://docs.example","code":"x"}}'],
    ['an error as a text', '{"error":"no"}'],
    ['an empty object', '{}'],
    ['numbers alone', '{"created":1,"usage":{"total_tokens":0,"exact":true}}'],
  ]
  for (const [what, text] of rows) {
    const { out, done } = scanBoth(text)
    t.equal(done.length, 0, what)
    t.equal(out, text, caseName({ what, text }))
  }
})

t.test('[6.2] a possible image in an unknown place is not delivered whole', async t => {
  const small = pngHead(64, 64).toString('base64')
  const whole64 = Buffer.concat([pngHead(64, 64), Buffer.alloc(60)]).toString('base64')
  const rows: [string, string][] = [
    ['the image twice', `{"data":[{"b64_json":"${png}","b64_json":"${png2}"}]}`],
    ['data twice', `{"data":[{"b64_json":"${png}"}],"data":[{"b64_json":"${png}"}]}`],
    ['a top-level list', `[{"b64_json":"${png}"}]`],
    ['a top-level text', '"https://images.example/1.png"'],
    ['data as an object', `{"data":{"b64_json":"${png}"}}`],
    ['data as an object of objects', `{"data":{"a":{"b64_json":"${png}"}}}`],
    ['data as a text', '{"data":"https://images.example/1.png"}'],
    ['texts in the list', '{"data":["https://images.example/1.png"]}'],
    ['image_url', '{"data":[{"image_url":"https://images.example/1.png"}]}'],
    ['an object in the element', '{"data":[{"image":{"url":"https://images.example/1.png"}}]}'],
    ['images', '{"images":[{"url":"https://images.example/1.png"}]}'],
    ['images beside an empty list', '{"data":[],"images":[{"url":"https://images.example/1.png"}]}'],
    ['predictions', `{"predictions":[{"bytesBase64Encoded":"${small}"}]}`],
    ['output beside an empty list', '{"data":[],"output":["https://images.example/1.png"]}'],
    ['output beside an error', '{"error":{},"output":["https://images.example/1.png"]}'],
    ['inlineData', `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"${small}"}}]}}]}`],
    ['other letters', `{"Data":[{"B64_JSON":"${small}"}]}`],
    ['nested under the prompt', `{"data":[{"revised_prompt":{"b64_json":"${png}"}}]}`],
    ['in the prompt', `{"data":[{"url":"https://x"},{"revised_prompt":"data:image/png;base64,${whole64}"}]}`],
    ['a list in the list', `{"data":[[{"b64_json":"${png}"}]]}`],
    ['another link beside one that is billed', '{"data":[{"url":"https://x"}],"more":["https://y"]}'],
    ['two links, of which one is billed', '{"images":["https://x","https://y"],"data":[{"url":"https://x"}]}'],
    ['an unknown format', `{"data":[],"picture":"${Buffer.alloc(1_000, 7).toString('base64')}"}`],
    ['lines of base64', `{"data":[],"picture":"${(small + '\\n').repeat(40)}"}`],
    ['a link as a name', '{"data":[],"https://images.example/1.png":1}'],
    ['a name that is no name', `{"data":[],"${small.repeat(9)}":1}`],
    ['numbers', `{"data":[],"bytes":[${Array.from({ length: 9_000 }, (_, i) => i % 256).join(',')}]}`],
    ['a relative link', '{"data":[],"file":"/files/1"}'],
    ['a job', '{"id":"job-1","status":"queued"}'],
    ['a page', `<html><img src="data:image/png;base64,${small}"></html>`],
    ['two objects', `{"data":[]}\n{"data":[{"b64_json":"${png}"}]}`],
  ]
  // Each of these contains an image as well.
  const accepted = new Set([
    'the image twice',
    'data twice',
    'in the prompt',
    'another link beside one that is billed',
    'two links, of which one is billed',
  ])
  for (const [what, text] of rows) {
    for (const step of [text.length, 1, 7])
      t.equal(leaveOut(new ImageScanner(), inPieces(text, step)).isRefused, !accepted.has(what), what)
  }
  const wide = Buffer.from(`{"data":[{"b64_json":"${png}"}]}`, 'utf16le')
  t.throws(() => run(new ImageScanner(), wide, () => 9, []), unrecognised)
  t.throws(() => run(new ImageScanner(), Buffer.concat([Buffer.of(0xff, 0xfe), wide]), () => 9, []), unrecognised)
  t.throws(() => run(new ImageScanner(), Buffer.from(png, 'base64'), () => 9, []), unrecognised)
})

t.test('[6.2] a list of numbers may be an image', async t => {
  const bytes = [...jpegHead(64, 64), ...Buffer.alloc(1_000)]
  for (const answer of [{ image: bytes }, { data: [bytes] }, { image: { type: 'Buffer', data: bytes } }])
    t.throws(
      () => run(new ImageScanner(), Buffer.from(JSON.stringify(answer)), () => 100, []),
      unrecognised,
      caseName({ answer }),
    )
  const refused = {
    created: '2026-11-21T09:14:03Z',
    data: [{ url: null, is_image_safe: false, seed: 3, style_type: 'AUTO' }],
  }
  t.same(run(new ImageScanner(), Buffer.from(JSON.stringify(refused)), () => 100, []).done, [])
})

t.test('[6.2] in a member declared as text a link is no image, and a picture counts', async t => {
  const options = { texts: ['request_url', 'note_text'] }
  for (const member of ['"request_url":"https://y"', '"note_text":"see https://y"']) {
    const text = `{"data":[{"url":"https://x"}],${member}}`
    const { out, done } = run(new ImageScanner(options), Buffer.from(text), () => 9, [])
    t.same([out, done.length], [text, 1], member)
  }
  const image = Buffer.concat([pngHead(64, 64), Buffer.alloc(60)]).toString('base64')
  for (const value of [image, 'https://y']) {
    const answer = `{"data":[],"note_text":"${value}"}`
    const { out, done } = run(new ImageScanner(options), Buffer.from(answer), () => 9, [])
    t.same([out, done.length], [answer, 1], value)
  }
  const drawing = '{"data":[],"note_text":"<svg><path/></svg>"}'
  t.throws(() => run(new ImageScanner(options), Buffer.from(drawing), () => 9, []), unrecognised)
})

t.test("[6.2] a refusal in the vendor's words passes if the family declares its member", async t => {
  const options = { refusals: ['base_resp', 'code'] }
  const rows = [
    '{"base_resp":{"status_code":1026,"status_msg":"sensitive input, see https://docs.example"},"id":"r-1"}',
    '{"code":"DataInspectionFailed","message":"no","request_id":"r-1"}',
  ]
  for (const text of rows) {
    t.equal(run(new ImageScanner(options), Buffer.from(text), () => 9, []).out, text, caseName({ text }))
    t.throws(() => run(new ImageScanner(), Buffer.from(text), () => 9, []), unrecognised, caseName({ text }))
  }
  for (const text of [
    '{"base_resp":{"status_code":0},"image":"file-1"}',
    '{"base_resp":{"status_code":0},"images":["https://images.example/1.png"]}',
    '{"base_resp":{"link":"https://images.example/1.png"}}',
    `{"base_resp":{"status_msg":"${Buffer.concat([pngHead(64, 64), Buffer.alloc(60)]).toString('base64')}"}}`,
  ])
    t.throws(() => run(new ImageScanner(options), Buffer.from(text), () => 9, []), unrecognised, text)
})

t.test('[6.2] a sentence may mention a link and a drawing', async t => {
  const fine = '{"data":[{"url":"https://x","revised_prompt":"as on https://y"}],"message":"see <svg> and https://z"}'
  t.equal(run(new ImageScanner(), Buffer.from(fine), () => 9, []).out, fine)
  for (const text of [
    '{"data":[],"message":"https://images.example/1.png"}',
    '{"data":[{"url":"https://x"}],"description":" //images.example/1.png "}',
    '{"data":[],"description":"<svg xmlns=\\"http://www.w3.org/2000/svg\\"><path/></svg>"}',
  ])
    t.notMatch(leaveOut(new ImageScanner(), inPieces(text, 9)).out, /images.example|svg/, text)
})

t.test('the image after its link gives its size', async t => {
  const { done } = scanBoth(`{"data":[{"url":"https://x","revised_prompt":"a","b64_json":"${png}"}]}`)
  t.same(done, [{ index: 0, kind: 'bytes', size: { width: 1254, height: 1254 } }])
})

t.test('a link is delivered only with its charge, and a data: URL is measured and held by its end', async t => {
  const scanner = new ImageScanner({ asUrl: false })
  t.same(scanner.write(Buffer.from('{"data":[{"url":"https://images')).out, [])
  t.same(scanner.write(Buffer.from('.example/1.png","a":1')).out, [])
  const { out, done } = scanner.write(Buffer.from('}'))
  t.equal(done.length, 1)
  t.equal(Buffer.concat(out).toString(), '{"data":[{"url":"https://images.example/1.png","a":1}')

  const inline = `data:image/png;base64,${Buffer.concat([pngHead(3000, 5), Buffer.alloc(60_000)]).toString('base64')}`
  const long = new ImageScanner({ asUrl: false })
  const first = long.write(Buffer.from(`{"data":[{"url":"${inline}`))
  t.equal(Buffer.concat(first.out).length, `{"data":[{"url":"${inline}`.length - tailBytes)
  t.same(long.write(Buffer.from('"}]}')).done, [{ index: 0, kind: 'bytes', size: { width: 3000, height: 5 } }])
})

t.test('as links: names change only before a non-empty string', async t => {
  const rows: [string, string][] = [
    ['{"data":[{"b64_json":null,"url":"https://x"}]}', '{"data":[{"b64_json":null,"url":"https://x"}]}'],
    [
      `{"data":[{"b64_json" : "${png}","url":null}]}`,
      `{"data":[{"url" : "data:image/png;base64,${png}","b64_json":null}]}`,
    ],
    [`{"data":[{"url":"","b64_json":"${png}"}]}`, `{"data":[{"b64_json":"","url":"data:image/png;base64,${png}"}]}`],
    [`{"data":[{"url":"https://x","b64_json":"${png}"}]}`, `{"data":[{"url":"https://x","b64_json":"${png}"}]}`],
    ['{"data":[{"b64_json":""}]}', '{"data":[{"b64_json":""}]}'],
    [
      '{"data":[{"url":12},{"url":[ ]},{"b64_json":null}]}',
      '{"data":[{"b64_json":12},{"b64_json":[ ]},{"b64_json":null}]}',
    ],
    ['{"data":[{"b64_json":{"a":1}}]}', '{"data":[{"b64_json":{"a":1}}]}'],
    ['{"data":[{"b64_json":"AAAA"}]}', '{"data":[{"url":"data:application/octet-stream;base64,AAAA"}]}'],
    [`{"data":[{"b64_json":"data:image/png;base64,${png}"}]}`, `{"data":[{"url":"data:image/png;base64,${png}"}]}`],
    [
      '{"b64_json":4,"url":null,"data":[{"a":{"b64_json":4}}]}',
      '{"b64_json":4,"url":null,"data":[{"a":{"b64_json":4}}]}',
    ],
  ]
  for (const [text, expected] of rows) t.equal(scanBoth(text, true).out, expected, caseName({ text, expected }))
})

t.test('a cut or malformed answer is never passed to its end', async t => {
  const full = `{"data":[{"b64_json":"${Buffer.alloc(9_000).toString('base64')}"}]}`
  for (const length of [5, 20, 3_000, 8_000, full.length - 4, full.length - 1]) {
    const scanner = new ImageScanner({ asUrl: false })
    const { out } = scanner.write(Buffer.from(full.slice(0, length)))
    t.ok(
      Buffer.concat(out).length <= Math.max(length - tailBytes, 22) || length >= full.length - 4,
      caseName({ length }),
    )
    t.throws(() => scanner.end(), unreadable, `cut at ${length}`)
  }
  for (const text of [
    '{"data":[}',
    '{"data" []}',
    '{"data":[],}',
    '{"data":[nul]}',
    '{"a":{]}',
    "{'data':[]}",
    '{data:[]}',
  ]) {
    t.throws(() => new ImageScanner({ asUrl: false }).write(Buffer.from(text)), unreadable, text)
  }
})

t.test('a 50 MB answer uses a chunk of memory', async t => {
  const scanner = new ImageScanner({ asUrl: true })
  const chunk = Buffer.alloc(65_536, 'A')
  let held = 0
  let [came, went] = [0, 0]
  const write = (bytes: Buffer): void => {
    came += bytes.length
    for (const piece of scanner.write(bytes).out) went += piece.length
    held = Math.max(held, came - went)
  }
  write(Buffer.from('{"data":[{"b64_json":"'))
  for (let i = 0; i < 800; i++) write(chunk)
  t.ok(held <= 70_000, `${held} bytes were held at most`)
})

// Events

const event = (type: string, more: object, withEvent = true): string =>
  `${withEvent ? `event: ${type}\n` : ''}data: ${JSON.stringify({ type, ...more })}\n\n`

function runEvents(
  text: string,
  cut: () => number,
  planted: readonly Planted[] = [],
  budget = 1e9,
): ReturnType<typeof run> {
  return run(new EventScanner(new ByteBudget(budget)), Buffer.from(text), cut, planted)
}

t.test('only a completed event is an image; partial ones never are', async t => {
  const partial = event('image_generation.partial_image', { b64_json: png, partial_image_index: 0 })
  const completed = event('image_generation.completed', { b64_json: png, usage: {} })
  const rows: [string, string, number][] = [
    ['three partial and a completed one', partial.repeat(3) + completed, 1],
    ['partial ones alone', partial.repeat(3), 0],
    ['two completed', completed.repeat(2), 2],
    ['two completed of one index', event('image_edit.completed', { index: 0, b64_json: png }).repeat(2), 1],
    ['two completed of two', [0, 1].map(index => event('image_edit.completed', { b64_json: png, index })).join(''), 2],
    ['by type alone', event('image_edit.completed', { b64_json: png }, false), 1],
    [
      'by type alone, after the image',
      `data: ${JSON.stringify({ b64_json: png, type: 'image_edit.completed' })}\n\n`,
      1,
    ],
    ['by event alone', `event:image_edit.completed\ndata:${JSON.stringify({ b64_json: png })}\n\n`, 1],
    ['event after data', `data: ${JSON.stringify({ b64_json: png })}\nevent: image_edit.completed\n\n`, 1],
    ['escaped', `data: {"t\\u0079pe":"image_edit\\u002ecompleted","b64\\u005fjson":"${png}"}\n\n`, 1],
    ['a link', event('image_generation.completed', { url: 'https://x' }), 1],
    ['a completed one without an image', event('image_generation.completed', { b64_json: '' }), 0],
    ['carriage returns', completed.replaceAll('\n', '\r'), 1],
    ['both line ends', (partial + completed).replaceAll('\n', '\r\n'), 1],
    ['a byte order mark and comments', `\ufeff: hello\n\n${completed}: ping\n\n`, 1],
    ['several data lines', `event: image_edit.completed\ndata: {\ndata: "b64_json":"${png}"\ndata: }\n\n`, 1],
    ['no blank line at the end', completed.trimEnd(), 1],
    ['an error', 'data: {"error":{"message":"no"}}\n\ndata: [DONE]\n\n', 0],
  ]
  for (const [what, text, count] of rows) {
    for (const cut of [() => text.length * 2, () => 1, () => 5]) {
      const { out, done } = runEvents(text, cut)
      t.equal(done.length, count, what)
      t.equal(out, text, caseName({ what, text, count, cut }))
    }
  }
})

t.test('nothing of a completed event is delivered before its charge', async t => {
  const scanner = new EventScanner(new ByteBudget(1e6))
  const completed = event('image_generation.completed', { b64_json: png })
  for (const byte of completed.slice(0, -1)) t.same(scanner.write(Buffer.from(byte)).out, [], caseName({ byte }))
  const { out, done } = scanner.write(Buffer.from('\n'))
  t.equal(Buffer.concat(out).toString(), completed)
  t.same(done, [{ index: 0, kind: 'bytes', size: { width: 1254, height: 1254 } }])
})

t.test('a preview passes with the end of its event, or as it arrives without memory to hold it', async t => {
  const text = event('image_generation.partial_image', { b64_json: 'A'.repeat(10_000) })
  const scanner = new EventScanner(new ByteBudget(1e6))
  t.same(scanner.write(Buffer.from(text.slice(0, -1))).out, [])
  t.equal(Buffer.concat(scanner.write(Buffer.from('\n')).out).toString(), text)
  const crowded = new EventScanner(new ByteBudget(0))
  t.ok(Buffer.concat(crowded.write(Buffer.from(text.slice(0, 9_000))).out).length >= 9_000 - tailBytes)
})

t.test('[6.2] an event of unknown kind with a possible image is not delivered', async t => {
  const rows: [string, string][] = [
    ['no type at all', `data: {"b64_json":"${png}"}\n\n`],
    ["another vendor's final event", event('image_generation.partial_succeeded', { b64_json: png, image_index: 0 })],
    ['the same with a link', event('image_generation.partial_succeeded', { url: 'https://images.example/1' })],
    ['an answer in an event', `data: {"data":[{"b64_json":"${png}"}]}\n\n`],
    ['inlineData', `data: {"candidates":[{"content":{"parts":[{"inlineData":{"data":"${png}"}}]}}]}\n\n`],
    ['a link as a preview', event('image_generation.partial_image', { url: 'https://images.example/1' })],
    ['a link beside a preview', event('image_generation.partial_image', { b64_json: png, full: 'https://y' })],
    ['a link beside an image', event('image_generation.completed', { b64_json: png, more: ['https://y'] })],
    ['two types', `data: {"type":"image_edit.partial_image","b64_json":"${png}","type":"image_edit.completed"}\n\n`],
    ['two images', `data: {"type":"image_edit.completed","b64_json":"${png}","b64_json":"${png2}"}\n\n`],
    ['a text as data', `data: ${png}\n\n`],
    ['a list as data', `data: [{"type":"image_edit.completed","b64_json":"${png}"}]\n\n`],
    ['a comment', `: ${'A'.repeat(300)}\n\n`],
    ['a link as a comment', ': see https://images.example/1\n\n'],
    ['a link as an id', 'id: https://images.example/1\ndata: {}\n\n'],
    ['a link as a name', 'event: https://images.example/1\ndata: {}\n\n'],
    ['a picture in a comment', `: ${png.slice(0, 200)}\n\n`],
    ['JSON that is no stream', `{"data":[{"b64_json":"${png}"}]}`],
    ['a picture of nobody knows what', event('done', { image: 'file-1' })],
  ]
  for (const [what, text] of rows)
    for (const step of [text.length, 1, 7]) {
      for (const room of [1e9, 0]) {
        const { out } = leaveOut(new EventScanner(new ByteBudget(room)), inPieces(text, step))
        // Lines without data are not held when there is no room for their event.
        if (room > 0 || what.includes('image')) t.notMatch(out, /https:|A{300}/, `${what}, ${room} bytes of room`)
      }
    }
})

t.test('[6.2] an image in small pieces over many events is not delivered whole', async t => {
  const whole = base64(seeded(7), pngHead(64, 64), 60_000)
  for (const length of [2, 20, 900]) {
    const pieces = [whole.slice(0, 2), ...(whole.slice(2).match(new RegExp(`.{1,${length}}`, 'g')) ?? [])]
    const deltas = pieces.map(delta => event('image.delta', { delta })).join('')
    const last = event('image_generation.completed', { b64_json: png })
    for (const text of [deltas + last, last + deltas, deltas]) {
      const { out, images } = leaveOut(new EventScanner(new ByteBudget(1e9)), inPieces(text, 4_096))
      const came = readEvents(out)
        .map(({ data }) => (data.trim() === '' ? '' : ((JSON.parse(data) as { delta?: string }).delta ?? '')))
        .join('')
      t.ok(came.length < 25_000, `pieces of ${length}: ${came.length} characters went out`)
      t.equal(images, text === deltas ? 0 : 1, `pieces of ${length}`)
    }
  }
  const words = Array.from({ length: 5_000 }, (_, i) => event('image_generation.text', { text: ` thought ${i}` })).join(
    '',
  )
  const all = words + event('image_generation.completed', { b64_json: png })
  t.equal(runEvents(all, () => 4_096).out, all, "a model's thoughts next to its image are not an image")
})

t.test('[6.2] other content of streams passes', async t => {
  const text = [
    ': keep-alive\n\n',
    `:${' '.repeat(2_048)}\n\n`,
    'id: 1\nretry: 500\nevent: ping\ndata: {}\n\n',
    event('image_generation.in_progress', { sequence_number: 1 }),
    `event: image_generation.completed \ndata: ${JSON.stringify({ b64_json: png, usage: { total_tokens: 1 } })}\n\n`,
    'data: {"error":{"message":"see https://docs.example","code":"x"}}\n\n',
    event('error', { code: 'x', message: 'see https://docs.example' }),
    'data: [DONE]\n\n',
  ].join('')
  for (const step of [text.length, 1, 7]) {
    const { out, done } = runEvents(text, () => step)
    t.equal(out, text, caseName({ step }))
    t.equal(done.length, 1, caseName({ step }))
  }
})

t.test('[6.11] an index repeated with the same bytes is the same image; with others it is another', async t => {
  const one = (index: number, b64_json: string) => event('image_generation.completed', { index, b64_json })
  const rows: [string, string, number][] = [
    ['three of one index', one(0, png) + one(0, png2) + one(0, pngHead(7, 7).toString('base64')), 3],
    ['one told three times', one(0, png).repeat(3), 1],
    ['the same picture at two indices', one(0, png) + one(1, png), 2],
    ['escaped another time', one(0, 'AA//') + one(0, 'AA//').replaceAll('/', '\\/'), 1],
    ['one told again after another', one(0, png) + one(0, png2) + one(0, png), 2],
  ]
  for (const [what, text, count] of rows) t.equal(runEvents(text, () => 9).done.length, count, what)
})

t.test('beyond the budget an event is held by its end, and its memory is released', async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed + 2)
  for (let i = 0; i < 300; i++) {
    const planted: Planted[] = []
    const records = Array.from({ length: 1 + whole(random, 4) }, () => {
      const image = someImage(random)
      const type = pick(random, [
        'image_generation.completed',
        'image_edit.completed',
        'image_generation.partial_image',
      ])
      if (!type.endsWith('partial_image')) planted.push(image)
      const members = [`"type":"${type}"`, `"b64_json":"${image.raw}"`, '"usage":{"total_tokens":1}']
      if (random() < 0.3) members.reverse()
      return `${random() < 0.5 ? `event: ${type}\n` : ''}data: {${members.join(',')}}\n\n`
    })
    const text = records.join('')
    const cut = text.length > 30_000 ? (): number => 1 + whole(random, 65_536) : cuts(random)
    const { out, done } = runEvents(text, cut, planted, pick(random, [0, 300, 10_000, 1e9]))
    if (out !== text) t.fail(`stream ${i} is not what came`)
    const expected = planted.map(({ kind, size }, index) => ({ index, kind, size }))
    if (JSON.stringify(done) !== JSON.stringify(expected)) t.same(done, expected, `stream ${i}`)
  }
  const budget = new ByteBudget(1_000)
  const scanner = new EventScanner(budget)
  scanner.write(Buffer.from('event: image_edit.completed\n'))
  t.notOk(budget.take(1_000))
  scanner.close()
  scanner.close()
  t.ok(budget.take(1_000))
})

t.test('a completed event with cut JSON is not passed on', async t => {
  const text = `event: image_edit.completed\ndata: {"b64_json":"${png}\n\n`
  t.throws(() => runEvents(text, () => 9), unreadable)
  t.throws(() => runEvents(text.trimEnd(), () => 9), unreadable)
})

t.test('a 16 MB line passes in bounded memory', async t => {
  const scanner = new EventScanner(new ByteBudget(1024 * 1024))
  const chunk = Buffer.alloc(65_536, 'A')
  let [came, went, held] = [0, 0, 0]
  const write = (bytes: Buffer): number => {
    came += bytes.length
    const { out, done } = scanner.write(bytes)
    for (const piece of out) went += piece.length
    held = Math.max(held, came - went)
    return done.length
  }
  write(Buffer.from('event: image_edit.completed\ndata: {"b64_json":"'))
  for (let i = 0; i < 256; i++) write(chunk)
  t.equal(write(Buffer.from('","type":"image_edit.completed"}\n\n')), 1)
  t.equal(came, went)
  t.ok(held < 1.2 * 1024 * 1024, `${held} bytes were held at most`)
})
