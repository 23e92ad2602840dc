import t from 'tap'
import { type FoundImage, ImageScanner, type Scanned, tailBytes } from '../../plugins/image-tier-billing/scan-images.ts'
import { Allowance, EventScanner } from '../../plugins/image-tier-billing/scan-events.ts'
import { seeded } from '../harness/exchange.ts'
import { avifHead, gifHead, jpegHead, pngHead, webpHead } from '../harness/image-heads.ts'

const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
const documents = Number(process.env['FUZZ'] ?? 800)

type Random = () => number
const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const whole = (random: Random, below: number): number => Math.floor(random() * below)

const unreadable = { name: 'Unreadable' }

/** What the generator put into a document. */
type Planted = {
  /** As it stands in the document, between its quotes. */
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
  const bytes = pick(random, [500, 1000, 3071, 3072, 3073, 5_000, 20_000, 90_000])
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

/** Values in which names and brackets mean nothing. */
function decoy(random: Random): string {
  return pick(random, [
    '"a boat"',
    '"\\\\"',
    '"\\\\\\""',
    '"{\\"data\\":[{\\"b64_json\\":\\"AAAA\\"}]}"',
    '{"b64_json":"iVBORw0KGgo","url":"https://nested"}',
    '[{"b64_json":"iVBORw0KGgo"},[[]],{}]',
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

function someDocument(random: Random): { readonly text: string; readonly planted: readonly Planted[] } {
  const planted: Planted[] = []
  const list = (): string => {
    // Values that would be an element with an image of their own are left out.
    const other = (): string =>
      pick(random, ['"a"', 'null', '1', '[{"b64_json":"iVBORw0KGgo"}]', '{}', '{"a":{"url":"x"}}'])
    const elements = Array.from({ length: whole(random, 4) }, () =>
      random() < 0.1 ? other() : element(random, planted),
    )
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

/** How many characters of an image may go before its charge. */
const heldFrom = (raw: string): number => Math.max(0, raw.length - tailBytes)

/** Runs a scanner over bytes cut at random, and checks after every piece that no image's end went before its charge. */
function run(
  scanner: { write(chunk: Buffer): Scanned; end(): Scanned },
  bytes: Buffer,
  cut: () => number,
  planted: readonly Planted[],
  changed = false,
): { readonly out: string; readonly done: readonly FoundImage[] } {
  const out: Buffer[] = []
  const done: FoundImage[] = []
  // How far the answer may have gone while an image is not charged. Where the answer is changed on its way, places
  // cannot be told, and what the held end begins with is looked for instead (behind the header, which others share).
  const limits = planted.map(({ raw }) => bytes.indexOf(raw) + heldFrom(raw))
  const ends = planted.map(({ raw }) => raw.slice(Math.max(heldFrom(raw), 400)).slice(0, 48))
  let went = 0
  let tail = ''
  const take = (scanned: Scanned): void => {
    done.push(...scanned.done)
    for (const piece of scanned.out) {
      out.push(piece)
      went += piece.length
      if (!changed) {
        if (went > (limits[done.length] ?? Infinity)) throw new Error(`image ${done.length} went before its charge`)
        continue
      }
      const seen = tail + piece.toString('latin1')
      if (ends.slice(done.length).some(end => end.length > 8 && seen.includes(end)))
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
    const { text, planted } = someDocument(random)
    // Cutting a large document at every byte takes long and shows nothing that a small one does not.
    const cut = text.length > 30_000 ? (): number => 1 + whole(random, 65_536) : cuts(random)
    const { out, done } = run(new ImageScanner({ asUrl: false }), Buffer.from(text), cut, planted)
    if (out !== text) t.fail(`document ${i} is not what came`)
    const expected = planted.map(({ kind, size }, index) => ({ index, kind, size }))
    if (JSON.stringify(done) !== JSON.stringify(expected)) t.same(done, expected, `document ${i}`)
    images += done.length
  }
  t.ok(images > documents, `${images} images in ${documents} documents`)
})

t.test('an answer rendered as links says the same with data: URLs, and holds the same ends', async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed + 1)
  let images = 0
  for (let i = 0; i < documents; i++) {
    const { text, planted } = someDocument(random)
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

/** All of a text at once, and byte by byte. */
function scanBoth(text: string, asUrl = false): { out: string; done: readonly FoundImage[] } {
  const bytes = Buffer.from(text)
  const one = run(new ImageScanner({ asUrl }), bytes, () => bytes.length, [])
  const many = run(new ImageScanner({ asUrl }), bytes, () => 1, [])
  t.same(one, many, 'at once and byte by byte are the same')
  return one
}

const png = pngHead(1254, 1254).toString('base64')
const png2 = pngHead(2500, 10).toString('base64')

t.test('an element counts once, whatever it has', async t => {
  const rows: [string, string, number][] = [
    ['both a link and the image', `{"data":[{"url":"https://x","b64_json":"${png}"}]}`, 1],
    ['the image and then a link', `{"data":[{"b64_json":"${png}","url":"https://x"}]}`, 1],
    ['the image twice', `{"data":[{"b64_json":"${png}","b64_json":"${png2}"}]}`, 1],
    ['two elements', `{"data":[{"b64_json":"${png}"},{"url":"https://x"}]}`, 2],
    ['data twice', `{"data":[{"b64_json":"${png}"}],"data":[{"b64_json":"${png}"}]}`, 2],
    ['data with escapes', `{"d\\u0061ta":[{"b64\\u005fjson":"${png}"}]}`, 1],
    ['no element', '{"data":[]}', 0],
    ['an empty element', '{"data":[{}]}', 0],
    ['a text alone', '{"data":[{"revised_prompt":"b64_json"}]}', 0],
    ['an empty image', '{"data":[{"b64_json":""}]}', 0],
    ['nulls', '{"data":[{"b64_json":null,"url":null}]}', 0],
    ['an error in a 200', '{"error":{"message":"no","data":[{"b64_json":"AAAA"}]}}', 0],
    ['nested under the prompt', `{"data":[{"revised_prompt":{"b64_json":"${png}"}}]}`, 0],
    ['a list in the list', `{"data":[[{"b64_json":"${png}"}]]}`, 0],
    ['data as an object', `{"data":{"a":{"b64_json":"${png}"}}}`, 0],
    ['a page of text', '<html>{"data":[{"b64_json":"AAAA"}]}</html>', 0],
    ['nothing at all', '', 0],
  ]
  for (const [what, text, count] of rows) {
    const { out, done } = scanBoth(text)
    t.equal(done.length, count, what)
    t.equal(out, text)
  }
})

t.test('the image that follows its link tells its size', async t => {
  const { done } = scanBoth(`{"data":[{"url":"https://x","revised_prompt":"a","b64_json":"${png}"}]}`)
  t.same(done, [{ index: 0, kind: 'bytes', size: { width: 1254, height: 1254 } }])
})

t.test('a link goes only with its charge, and one that is a data: URL is measured and held by its end', async t => {
  const scanner = new ImageScanner({ asUrl: false })
  t.same(
    Buffer.concat(scanner.write(Buffer.from('{"data":[{"url":"https://images')).out).toString(),
    '{"data":[{"url":"',
  )
  t.same(scanner.write(Buffer.from('.example/1.png","a":1')).out, [])
  const { out, done } = scanner.write(Buffer.from('}'))
  t.equal(done.length, 1)
  t.equal(Buffer.concat(out).toString(), 'https://images.example/1.png","a":1}')

  const inline = `data:image/png;base64,${Buffer.concat([pngHead(3000, 5), Buffer.alloc(60_000)]).toString('base64')}`
  const long = new ImageScanner({ asUrl: false })
  const first = long.write(Buffer.from(`{"data":[{"url":"${inline}`))
  t.equal(Buffer.concat(first.out).length, `{"data":[{"url":"${inline}`.length - tailBytes)
  t.same(long.write(Buffer.from('"}]}')).done, [{ index: 0, kind: 'bytes', size: { width: 3000, height: 5 } }])
})

t.test('as links: names change only where a string with something in it follows', async t => {
  const rows: [string, string][] = [
    ['{"data":[{"b64_json":null,"url":"https://x"}]}', '{"data":[{"b64_json":null,"url":"https://x"}]}'],
    [
      `{"data":[{"b64_json" : "${png}","url":null}]}`,
      `{"data":[{"url" : "data:image/png;base64,${png}","b64_json":null}]}`,
    ],
    [`{"data":[{"url":"","b64_json":"${png}"}]}`, `{"data":[{"b64_json":"","url":"data:image/png;base64,${png}"}]}`],
    [`{"data":[{"url":"https://x","b64_json":"${png}"}]}`, `{"data":[{"url":"https://x","b64_json":"${png}"}]}`],
    ['{"data":[{"b64_json":""}]}', '{"data":[{"b64_json":""}]}'],
    ['{"data":[{"b64_json":{"a":1}}]}', '{"data":[{"b64_json":{"a":1}}]}'],
    ['{"data":[{"b64_json":"AAAA"}]}', '{"data":[{"url":"data:application/octet-stream;base64,AAAA"}]}'],
    [`{"data":[{"b64_json":"data:image/png;base64,${png}"}]}`, `{"data":[{"url":"data:image/png;base64,${png}"}]}`],
    [
      '{"b64_json":"AAAA","url":null,"data":[{"a":{"b64_json":"AAAA"}}]}',
      '{"b64_json":"AAAA","url":null,"data":[{"a":{"b64_json":"AAAA"}}]}',
    ],
  ]
  for (const [text, expected] of rows) t.equal(scanBoth(text, true).out, expected)
})

t.test('an answer that is cut or bent is never let through to its end', async t => {
  const full = `{"data":[{"b64_json":"${Buffer.alloc(9_000).toString('base64')}"}]}`
  for (const length of [5, 20, 3_000, 8_000, full.length - 4, full.length - 1]) {
    const scanner = new ImageScanner({ asUrl: false })
    const { out } = scanner.write(Buffer.from(full.slice(0, length)))
    t.ok(Buffer.concat(out).length <= Math.max(length - tailBytes, 22) || length >= full.length - 4)
    t.throws(() => scanner.end(), unreadable, `cut at ${length}`)
  }
  for (const text of ['{"data":[}', '{"data":[]}{"data":[]}', '{"data":{]}']) {
    t.throws(() => new ImageScanner({ asUrl: false }).write(Buffer.from(text)), unreadable, text)
  }
})

t.test('a 50 MB answer costs a chunk of memory', async t => {
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
  allowance = 1e9,
): ReturnType<typeof run> {
  return run(new EventScanner(new Allowance(allowance)), Buffer.from(text), cut, planted)
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
      t.equal(out, text)
    }
  }
})

t.test('nothing of a completed event goes before its charge', async t => {
  const scanner = new EventScanner(new Allowance(1e6))
  const completed = event('image_generation.completed', { b64_json: png })
  for (const byte of completed.slice(0, -1)) t.same(scanner.write(Buffer.from(byte)).out, [])
  const { out, done } = scanner.write(Buffer.from('\n'))
  t.equal(Buffer.concat(out).toString(), completed)
  t.same(done, [{ index: 0, kind: 'bytes', size: { width: 1254, height: 1254 } }])
})

t.test('a partial image passes as it comes', async t => {
  const scanner = new EventScanner(new Allowance(1e6))
  const text = event('image_generation.partial_image', { b64_json: 'A'.repeat(10_000) }).slice(0, 5_000)
  t.equal(Buffer.concat(scanner.write(Buffer.from(text)).out).toString(), text)
})

t.test('beyond the allowance an event is held by its end, and what it took is given back', async t => {
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
  const allowance = new Allowance(1_000)
  const scanner = new EventScanner(allowance)
  scanner.write(Buffer.from('event: image_edit.completed\n'))
  t.notOk(allowance.take(1_000))
  scanner.close()
  scanner.close()
  t.ok(allowance.take(1_000))
})

t.test('a completed event whose JSON is cut is not let through', async t => {
  const text = `event: image_edit.completed\ndata: {"b64_json":"${png}\n\n`
  t.throws(() => runEvents(text, () => 9), unreadable)
  t.throws(() => runEvents(text.trimEnd(), () => 9), unreadable)
})

t.test('a 16 MB line passes in bounded memory', async t => {
  const scanner = new EventScanner(new Allowance(1024 * 1024))
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
