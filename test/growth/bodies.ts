import { conversation, pictureQuestion } from '../harness/real-bodies.ts'

/** Creates bytes of about this length; the same for the same length. */
export type Generator = (bytes: number) => Buffer

/** As many whole units as fit into this many bytes. */
export function fill(bytes: number, unit: string): Buffer {
  const one = Buffer.from(unit)
  return Buffer.alloc(Math.max(1, Math.floor(bytes / one.length)) * one.length, one)
}

/** Possible contents of a JSON string, one kind each. */
const units = {
  plain: 'The harbour at night. ',
  'line feeds': '\\n',
  'a line feed every 40': `${'x'.repeat(38)}\\n`,
  'escaped quotes': '\\"',
  backslashes: '\\\\',
  'escaped slashes': 'abc\\/',
  'a quote every 200': `${'x'.repeat(200)}\\"`,
  'Chinese, raw': '港口很安静',
  'Chinese, escaped': '\\u6e2f\\u53e3',
  'pairs of surrogates': '\\ud83d\\ude00',
  'escaped controls': '\\u0000\\b\\f',
  brackets: '{[]},:',
  base64: 'iVBORw0KGgoAAAANSUhEUgAABOYA',
} as const

/** Bodies with one string of one kind, in the text of a chat. */
export const stringBodies: { readonly [name: string]: Generator } = Object.fromEntries(
  Object.entries(units).map(([name, unit]) => [name, bytes => asChat(fill(bytes, unit))]),
)

/** Bodies with an unusual structure and ordinary text. */
export const structureBodies: { readonly [name: string]: Generator } = {
  'one name': bytes => around('{"model":"m","x":{"', fill(bytes, 'name'), '":1}}'),
  'escaped names': bytes => listOf(bytes, i => `{"\\u006eame${i % 1_000}":1}`, 40_000),
  'many fields': bytes => fields(bytes, 90_000),
  numbers: bytes => listOf(bytes, i => String(i), 190_000),
  'long numbers': bytes => around('{"model":"m","x":[1', fill(bytes / 2, '0'), '.5e10,-0.', fill(bytes / 2, '1'), ']}'),
  blanks: bytes => around('{"model":"m",', fill(bytes / 2, ' \n\r\t'), '"x":1', fill(bytes / 2, '\t'), '}'),
  'nested deeply': bytes => listOf(bytes, () => `${'['.repeat(50)}"deep"${']'.repeat(50)}`, 1_900),
  'small messages': bytes => listOf(bytes, () => '{"role":"user","content":"a few words\\n"}', 33_000),
  'words and empties': bytes =>
    listOf(bytes, i => ['true', 'false', 'null', '{}', '[]', '""'][i % 6] as string, 99_000),
}

/** Typical bodies of clients. */
export const realBodies: { readonly [name: string]: Generator } = {
  'a conversation': bytes => repeated(bytes, size => conversation({ bytes: size })),
  'a conversation, from Python': bytes => repeated(bytes, size => conversation({ bytes: size, writing: 'escaped' })),
  'a conversation, indented': bytes => repeated(bytes, size => conversation({ bytes: size, pretty: true })),
  'a picture': bytes => pictureQuestion({ model: 'm', bytes: bytes * 0.75 }),
  'a picture, slashes escaped': bytes => pictureQuestion({ model: 'm', bytes: bytes * 0.72, slashes: 'escaped' }),
}

export const jsonBodies: { readonly [name: string]: Generator } = { ...stringBodies, ...structureBodies, ...realBodies }

/** Streams of events, with each kind of line end and of record. */
export const eventStreams: { readonly [name: string]: Generator } = {
  'small events': bytes => fill(bytes, 'data: {"choices":[{"index":0,"delta":{"content":" word"}}]}\n\n'),
  'one event': bytes => around('data: {"delta":"', fill(bytes, 'word '), '"}\n\n'),
  'one event of escapes': bytes => around('data: {"delta":"', fill(bytes, '\\n\\"'), '"}\n\n'),
  'one event of lines': bytes => around(fill(bytes, 'data: ["word"],\n'), '\n'),
  'no line ends': bytes => fill(bytes, 'word '),
  'line feeds': bytes => fill(bytes, '\n'),
  'carriage returns': bytes => fill(bytes, '\r'),
  'both line ends': bytes => fill(bytes, '\r\n'),
  'lines ended by CR': bytes => fill(bytes, 'data: 1\r'),
  'lines ended by both': bytes => fill(bytes, 'event: a\r\ndata: 1\r\n\r\n'),
  comments: bytes => fill(bytes, ': still here\n'),
  'usage in each': bytes => fill(bytes, 'data: {"usage":null,"error":null,"usages":1}\n\n'),
  'events that grow': bytes => growingEvents(bytes),
}

export const boundary = 'tollgate-growth'

/** Forms, with each kind of content. */
export const forms: { readonly [name: string]: Generator } = {
  'one file': bytes => form([file('image', fill(bytes, 'picture '))]),
  'a file of CR': bytes => form([file('image', fill(bytes, '\r'))]),
  'a file of line ends': bytes => form([file('image', fill(bytes, '\r\n'))]),
  'a file of half boundaries': bytes => form([file('image', fill(bytes, '\r\n--tollgate-growt'))]),
  'a file of dashes': bytes => form([file('image', fill(bytes, '-'))]),
  'many files': bytes =>
    form(Array.from({ length: Math.min(9_000, bytes / 128) }, () => file('image[]', fill(bytes / 9_000, 'x')))),
  'parts that are skipped': bytes => form([fill(bytes, `X-A: b\r\n\r\n\r\n--${boundary}\r\n`)]),
  'lines that begin like boundaries': bytes => form([fill(bytes, `\r\n--${boundary}x`)]),
  'blanks in heads': bytes => form(Array.from({ length: Math.min(120, bytes / 8_200) }, () => blankHead())),
}

function asChat(text: Buffer): Buffer {
  return around('{"model":"m","messages":[{"role":"user","content":"', text, '"}]}')
}

export function around(...parts: readonly (Buffer | string)[]): Buffer {
  return Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : part)))
}

/** A list of elements; beyond `most` of them, which stays below the limit on structure, the last is a long text. */
function listOf(bytes: number, element: (i: number) => string, most: number): Buffer {
  const elements: string[] = []
  let length = 0
  while (length < bytes && elements.length < most) {
    const one = element(elements.length)
    elements.push(one)
    length += one.length + 1
  }
  const rest = bytes - length > 16 ? [',"', fill(bytes - length, 'rest '), '"'] : []
  return around('{"model":"m","x":[', elements.join(','), ...rest, ']}')
}

function fields(bytes: number, most: number): Buffer {
  const count = Math.min(most, Math.floor(bytes / 16))
  const names = Array.from({ length: count }, (_, i) => `"field${i}":${i}`).join(',')
  const rest = bytes - names.length > 64 ? [',"rest":"', fill(bytes - names.length, 'rest '), '"'] : []
  return around('{"model":"m",', names, ...rest, '}')
}

/** Realistic bodies of up to 64 KiB are generated; longer ones repeat the same messages. */
function repeated(bytes: number, make: (bytes: number) => Buffer): Buffer {
  const one = make(Math.min(bytes, 65_536))
  if (bytes <= 65_536) return one
  const times = Math.max(1, Math.floor(bytes / (one.length + 1)))
  const all: (Buffer | string)[] = ['{"model":"m","messages":[', one]
  for (let i = 1; i < times; i++) all.push(',', one)
  return around(...all, ']}')
}

function growingEvents(bytes: number): Buffer {
  const events: string[] = []
  let left = bytes
  for (let size = 64; left > 0; size *= 2) {
    events.push(`data: {"text":"${'word '.repeat(Math.min(size, left) / 5)}"}\n\n`)
    left -= Math.min(size, left)
  }
  return Buffer.from(events.join(''))
}

function file(name: string, content: Buffer): Buffer {
  return around(`Content-Disposition: form-data; name="${name}"; filename="a"\r\n\r\n`, content)
}

function blankHead(): Buffer {
  return around(
    'Content-Disposition: form-data; name="image[]"; filename="a"\r\nX-Blank: a',
    fill(8_000, ' '),
    'b\r\n\r\nx',
  )
}

export function form(parts: readonly Buffer[]): Buffer {
  const model = 'Content-Disposition: form-data; name="model"\r\n\r\nimage'
  return around(
    `--${boundary}\r\n`,
    model,
    '\r\n',
    ...parts.flatMap(part => [`--${boundary}\r\n`, part, '\r\n']),
    `--${boundary}--\r\n`,
  )
}
