import type { Socket } from 'node:net'
import * as fc from 'fast-check'
import { Connection } from '../../../src/engine/upstream/connection.ts'
import { WireFault } from '../../../src/engine/upstream/wire-fault.ts'
import { Asked } from '../../harness/upstream-client.ts'
import { cuts, type Fuzzer, insist, pieces } from '../fuzzer.ts'
import { readByNode, type ReadAnswer, Wire } from '../readers/read-answer.ts'

/** An answer as written to the socket, one character per byte. */
type AnswerCase = { readonly text: string; readonly cuts: readonly number[]; readonly method: string }

const word = fc.constantFrom(
  'a',
  'hello',
  '{"ok":true}',
  '\r\n',
  '0\r\n\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
  '\u00e9\u0000',
)
const contents = fc.oneof(
  fc.array(word, { maxLength: 4 }).map(words => words.join('')),
  fc.tuple(word, fc.integer({ min: 1, max: 30_000 })).map(([one, times]) => one.repeat(Math.ceil(times / one.length))),
)
const statusLine = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.1 404 Not Found', 'HTTP/1.1 200 ', 'HTTP/1.1 503'),
  },
  { weight: 3, arbitrary: fc.constantFrom('HTTP/1.1 204 No Content', 'HTTP/1.1 304 Not Modified', 'HTTP/1.0 200 OK') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'HTTP/1.1 20 OK',
      'HTTP/1.1  200 OK',
      'HTTP/1.1 2000 OK',
      'HTTP/1.2 200 OK',
      'http/1.1 200 OK',
      'HTTP/1.1 200\tOK',
      'HTTP/1.1 200 caf\u00e9',
      'HTTP/1.1 200 a\u0000b',
      'HTTP/1.1 599 x',
      'HTTP/1.1 999 x',
      'ICY 200 OK',
      'HTTPS/1.1 200 OK',
      '',
    ),
  },
)
const field = fc.oneof(
  fc.constantFrom(
    'Content-Type: application/json',
    'X-A: b',
    'x-a:c',
    'X-A:   d \t',
    'Set-Cookie: a=b',
    'Date: now',
    'Server:',
    'Connection: close',
    'Connection: keep-alive',
    'Keep-Alive: timeout=5',
    'X-Word: caf\u00e9',
    '__proto__: x',
    'Trailer: X-T',
    'Content-Encoding: identity',
  ),
  fc.constantFrom(
    ' X-Folded: 1',
    'X-Bare',
    'X Blank: 1',
    'X-Blank : 1',
    ': none',
    'X-Nul: a\u0000b',
    'X-Cr: a\rb',
    'X-Lf: a\nX-Lf2: b',
    'X-Del: \u007f',
    'X\u00e9: 1',
    'Upgrade: websocket',
    'Transfer-Encoding: identity',
    'Content-Length: 3',
    'Content-Length: 0',
    'Content-Length: x',
  ),
  fc.integer({ min: 1, max: 9_000 }).map(size => `X-Long: ${'a'.repeat(size)}`),
)
const fields = fc.oneof({ weight: 5, arbitrary: fc.array(field, { maxLength: 2 }) }, fc.array(field, { maxLength: 6 }))
const extension = fc.oneof(
  { weight: 6, arbitrary: fc.constant('') },
  fc.constantFrom(';a', ';a=b', ';a="b c"', ';a=b;c=d', '; a', ' ', ';a\u0000', ';a=";\\""', ';'),
)
const chunkEnd = fc.oneof({ weight: 15, arbitrary: fc.constant('\r\n') }, fc.constantFrom('\n', '\r', '', 'x\r\n'))
const trailers = fc.oneof(
  { weight: 8, arbitrary: fc.constant('') },
  fc.constantFrom(
    'X-T: 1\r\n',
    'X-T: 1\r\nX-U: 2\r\n',
    'nonsense\r\n',
    ' X: 1\r\n',
    'X-T: a\u0000\r\n',
    'Content-Length: 5\r\n',
  ),
)
const chunk = fc
  .tuple(contents, extension, chunkEnd, chunkEnd, fc.constantFrom('', '', '', '0', '00', '-', '0x', ' '))
  .map(([text, more, first, last, before]) => `${before}${text.length.toString(16)}${more}${first}${text}${last}`)
const chunked = fc
  .tuple(fc.array(chunk, { maxLength: 4 }), extension, trailers, fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', ''))
  .map(([chunks, more, rest, end]) => `${chunks.join('')}0${more}\r\n${rest}${end}`)
const body = fc.oneof(
  { weight: 4, arbitrary: contents.map(text => [[`Content-Length: ${text.length}`], text] as const) },
  { weight: 4, arbitrary: chunked.map(text => [['Transfer-Encoding: chunked'], text] as const) },
  { weight: 1, arbitrary: contents.map(text => [[] as string[], text] as const) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom(
        ['Content-Length: 5', 'Transfer-Encoding: chunked'],
        ['Transfer-Encoding: gzip, chunked'],
        ['Transfer-Encoding: Chunked'],
        ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
        ['Transfer-Encoding: xchunked'],
        ['Content-Length: 5', 'Content-Length: 5'],
        ['Content-Length: 5, 5'],
        ['Content-Length: +5'],
        ['Content-Length: 5 '],
        ['Content-Length: 00005'],
        ['Content-Length:'],
        ['Content-Length: 99999999999999999999'],
      ),
      fc.oneof(contents, chunked),
    ),
  },
)
const final = fc
  .tuple(
    statusLine,
    fields,
    body,
    fc.nat(5),
    fc.constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r'),
  )
  .map(([line, more, [framing, text], turn, end]) => {
    const all = [...framing, ...more]
    const at = all.length > 0 ? turn % all.length : 0
    return `${[line, ...all.slice(at), ...all.slice(0, at), '', ''].join(end)}${text}`
  })
const interim = fc.constantFrom(
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n',
  'HTTP/1.1 102 x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 150\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  '\r\n',
)
const text = fc
  .tuple(
    fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(interim, { maxLength: 3 })),
    final,
    fc.oneof({ weight: 8, arbitrary: fc.constant('') }, fc.constantFrom('x', '\r\n', 'HTTP/1.1 200 OK\r\n\r\n')),
    // Cut short, like a connection that ends too soon.
    fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true })),
  )
  .map(([before, answer, behind, share]) => {
    const whole = before.join('') + answer + behind
    return whole.slice(0, Math.ceil(whole.length * share))
  })

export const answers: Fuzzer<AnswerCase> = {
  name: 'answers',
  promise: 'an answer of an upstream is read as Node reads it, however it is cut, or refused',
  cases: fc.record({
    text,
    cuts: fc.oneof(cuts, fc.constant([1])),
    method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'HEAD'),
  }),
  short: 400,
  change: { text: 'text' },
  async open({ planted, meter }) {
    return {
      async try({ text: written, cuts: lengths, method }) {
        const bytes = Buffer.from(written, 'latin1')
        const theirs = await readByNode(bytes, method)
        for (const reads of ['own', 'common'] as const) {
          const ours = await meter.turn(() => readByUs(bytes, lengths, method, reads))
          compare(written, planted ? { ...ours, body: ours.body.slice(1) } : ours, theirs, method)
        }
        return bytes.length
      },
      async close() {},
    }
  },
}

/** `own`: each piece has memory of its own, like a stream's. `common`: pieces are read into reused memory. */
async function readByUs(
  bytes: Buffer,
  lengths: readonly number[],
  method: string,
  reads: 'own' | 'common',
): Promise<ReadAnswer> {
  const wire = new Wire()
  const connection = new Connection({ onRest: one => one.close(), onGone: () => undefined })
  connection.open(wire as unknown as Socket, reads === 'common')
  const request = new Asked({ method }, 'x')
  connection.begin(request)
  for (const piece of pieces(bytes, lengths)) {
    if (connection.isGone) break
    if (reads === 'own') wire.emit('data', Buffer.from(piece))
    else give(connection, piece)
  }
  wire.push(null)
  wire.resume()
  const { head, error } = await request.over.promise
  return {
    end: error === undefined ? 'whole' : error instanceof WireFault ? 'fault' : 'cut',
    status: head?.status,
    headers: Object.fromEntries(
      Object.entries(head?.headers ?? {}).map(([name, value]) => [name, [value ?? []].flat()]),
    ),
    body: request.body.toString('latin1'),
    interim: request.interim.map(({ status }) => status),
    ...(error && { why: error.message }),
  }
}

function give(connection: Connection, piece: Buffer): void {
  for (let at = 0; at < piece.length && !connection.isGone; ) {
    const memory = connection.nextMemory()
    const copied = piece.copy(memory, 0, at)
    connection.onRead(copied, memory)
    // Bytes that were already reported must not share memory with the next read.
    connection.nextMemory().fill(0xff, 0, 64)
    at += copied
  }
}

/**
 * Answers that the gateway refuses on purpose and Node accepts: by reason, with the pattern that the answer must match.
 */
const stricter: { readonly [why: string]: RegExp } = {
  // Other codings, or one coding twice.
  'its transfer-encoding is unknown':
    /^transfer-encoding: *(?!chunked\r\n)\S|^transfer-encoding:.*^transfer-encoding:/ims,
  // Node counts the names and values of a head, but not the bytes between them.
  'its head is too long': /[^]{16384}/,
  // Blank lines before a head.
  'it uses another protocol': /^[\r\n]|\r\n\r\n[\r\n]/,
  // Blank lines, or bytes that a reason phrase may not contain.
  'its first line is not a status line':
    /^[\r\n]|\r\n\r\n[\r\n]|HTTP\/1\.[01] \d{3} [^\r\n]*[^\t\x20-\x7e\x80-\xff\r\n]/,
}
/**
 * Errors of Node for answers that the gateway accepts: chunk extensions, and a `Content-Length` in the trailers, which
 * it ignores.
 */
const looser = /chunk extensions|Content-Length can't be present with Transfer-Encoding/

function compare(text: string, ours: ReadAnswer, theirs: ReadAnswer, method: string): void {
  const say = (what: string) => (): string => `${method} ${what}: ours ${tell(ours)}, Node's ${tell(theirs)}`
  // The caller refuses it.
  if (ours.interim.includes(101)) return
  if (ours.end !== 'whole') {
    insist(theirs.end !== 'whole' || stricter[ours.why ?? '']?.test(text) === true, say('what Node reads is refused'))
    return
  }
  if (looser.test(theirs.why ?? '')) return
  insist(theirs.end === 'whole', say('what Node refuses is read'))
  insist(ours.status === theirs.status, say('another status'))
  insist(JSON.stringify(sorted(ours.headers)) === JSON.stringify(sorted(theirs.headers)), say('other headers'))
  insist(ours.body === theirs.body, say('other contents'))
  insist(ours.interim.join() === theirs.interim.join(), say('other interim answers'))
}

function sorted(headers: ReadAnswer['headers']): readonly unknown[] {
  return Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function tell({ end, status, headers, body: read, interim: before, why }: ReadAnswer): string {
  return JSON.stringify({ end, why, status, headers, body: read.slice(0, 100), length: read.length, interim: before })
}
