import { connect } from 'node:net'
import * as fc from 'fast-check'
import { start } from '../../harness/start.ts'
import { recordUpstream, type RecordingUpstream } from '../doors/recording-upstream.ts'
import { type Fuzzer, insist, pieces } from '../fuzzer.ts'

/** A request as written to the socket, one character per byte; `{{KEY}}` is the client's key. */
type HeadCase = { readonly text: string; readonly cuts: readonly number[] }

const path = '/v1/chat/completions'
const body = '{"model":"sim-chat","messages":[{"role":"user","content":"a boat"}]}'
/** Bytes that must never be sent upstream: after the request, and after half a head. */
const hidden = `POST ${path} HTTP/1.1\r\nHost: hidden\r\nX-Hidden: 1\r\nContent-Length: 8\r\n\r\n{"hid":1}`

const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

const requestLine = fc.oneof(
  { weight: 15, arbitrary: fc.constant(`POST ${path} HTTP/1.1`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      `POST  ${path} HTTP/1.1`,
      `POST ${path}  HTTP/1.1`,
      `POST\t${path} HTTP/1.1`,
      `post ${path} HTTP/1.1`,
      `POST ${path} HTTP/1.0`,
      `POST ${path} HTTP/2.0`,
      `POST ${path}`,
      `POST ${path} HTTP/1.1 `,
      `POST http://other.example${path} HTTP/1.1`,
      `GET ${path} HTTP/1.1`,
      `POST ${path}?a=b&c HTTP/1.1`,
      `POST ${path}?a=%0d%0aX-Other:1 HTTP/1.1`,
      `POST ${path}#x HTTP/1.1`,
      `POST /v1/./chat/completions HTTP/1.1`,
      `POST /v1//chat/completions HTTP/1.1`,
      `POST /v1/chat%2fcompletions HTTP/1.1`,
      `POST /v1/chat/completions%00 HTTP/1.1`,
      `CONNECT a:1 HTTP/1.1`,
      `POST ${path}\u0000 HTTP/1.1`,
      `POST ${path}\u00e9 HTTP/1.1`,
      `OPTIONS * HTTP/1.1`,
      `\r\nPOST ${path} HTTP/1.1`,
      `POST ${path} HTTP/1.1\r`,
    ),
  },
)
const hosts = fc.oneof(
  { weight: 12, arbitrary: fc.constant(['Host: gateway.example']) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      [],
      ['Host: a', 'Host: b'],
      ['Host:'],
      ['Host: a@b'],
      ['Host: a/b'],
      ['Host: a, b'],
      ['Host : a'],
    ),
  },
)
const lengths = fc.oneof(
  { weight: 6, arbitrary: fc.constant([`Content-Length: ${body.length}`]) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      [],
      ['Content-Length: 0'],
      [`Content-Length: ${body.length}`, 'Content-Length: 0'],
      [`Content-Length: ${body.length}, ${body.length}`],
      [`Content-Length: +${body.length}`],
      [`Content-Length: 0x${body.length.toString(16)}`],
      ['Content-Length: -1'],
      ['Content-Length:'],
      ['Transfer-Encoding: chunked'],
      [`Content-Length: ${body.length}`, 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: identity, chunked'],
      ['Transfer-Encoding:\tchunked'],
      ['Transfer-Encoding : chunked', `Content-Length: ${body.length}`],
      ['Transfer-Encoding: xchunked'],
      [`Content-Length: ${body.length}`, 'Transfer_Encoding: chunked'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
      [`X: 1\nTransfer-Encoding: chunked`, `Content-Length: ${body.length}`],
      [`Content-Length: ${body.length}\r`],
      [`Content-Length: ${body.length} `],
      [`X: 1\r\n Transfer-Encoding: chunked`, `Content-Length: ${body.length}`],
      ['Content-Length: 18446744073709551616'],
    ),
  },
)
const others = fc.array(
  fc.oneof(
    fc.constantFrom(
      'Connection: close',
      'Connection: X-Hidden, authorization',
      'X-Hidden: 1',
      'Expect: 100-continue',
      'Upgrade: h2c',
      'TE: trailers',
      'Trailer: X-Hidden',
      'Content-Encoding: gzip',
      'X-A: a\u0000b',
      'X-A: a\rb',
      'X-A: \u00e9',
      ' X-A: 1',
      'X A: 1',
      ': 1',
      'X-A',
      'X-Forwarded-For: 1',
      'Cookie: a=b',
      'Content-Type: text/plain',
      'Content-Length : 0',
      'content-length:\v0',
      'Proxy-Connection: keep-alive',
      'HTTP2-Settings: AAMAAABk',
      'X-Original-URL: /admin',
      'Authorization: Bearer no',
    ),
    fc
      .tuple(fc.constantFrom('X-Long', 'openai-beta', 'accept'), fc.integer({ min: 1, max: 20_000 }))
      .map(([name, size]) => `${name}: ${'a'.repeat(size)}`),
    fc.integer({ min: 1, max: 300 }).map(count => Array.from({ length: count }, (_, i) => `X-${i}: 1`).join('\r\n')),
  ),
  { maxLength: 3 },
)
const content = fc.oneof(
  { weight: 5, arbitrary: fc.constant(body) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      chunked,
      `${body.length.toString(16)};a="b\r\n"\r\n${body}\r\n0\r\n\r\n`,
      `0\r\n\r\n`,
      `${body.length.toString(16)}\r\n${body}\r\n0\r\nX-Hidden: 1\r\n\r\n`,
      `0${body.length.toString(16)} \r\n${body}\r\n0\r\n\r\n`,
      '0\n\n',
      'g\r\n',
      `${body.length.toString(16)}\n${body}\n0\n\n`,
      `ffffffffffffffff1\r\n${body}`,
      body.slice(0, 10),
      '',
    ),
  },
)
/** Mostly a correct length, so that half of the requests are accepted. */
const framed = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom([[`Content-Length: ${body.length}`], body], [['Transfer-Encoding: chunked'], chunked]),
  },
  { weight: 4, arbitrary: fc.tuple(lengths, content) },
) as fc.Arbitrary<readonly [lengths: readonly string[], content: string]>
const ends = fc.constantFrom(...Array.from({ length: 12 }, () => '\r\n'), '\n', '\r')

const text = fc
  .tuple(requestLine, hosts, framed, others, fc.constantFrom('', '', hidden, `\r\n${hidden}`), ends, fc.nat(6))
  .map(([line, host, [length, sent], more, behind, end, turn]) => {
    const all = ['Authorization: Bearer {{KEY}}', 'Content-Type: application/json', ...host, ...length, ...more]
    const at = turn % all.length
    return `${[line, ...all.slice(at), ...all.slice(0, at), '', ''].join(end)}${sent}${behind}`
  })

export const heads: Fuzzer<HeadCase> = {
  name: 'heads',
  promise: 'whatever bytes a caller writes, an upstream is sent one whole request of its own making, or none',
  cases: fc.record({
    text,
    cuts: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.integer({ min: 20, max: 300 }), { minLength: 1, maxLength: 2 }) },
    ),
  }),
  short: 80,
  async open({ planted }) {
    const ends_: (() => Promise<void>)[] = []
    const upstream = await recordUpstream()
    const started = await start(
      { teardown: (end: () => Promise<void>) => void ends_.push(end) },
      {
        simulated: true,
        env: { TEXT_URL: upstream.url },
        edit: [{ 'groups/default': {} }],
      },
    )
    // The planted fault: the client's bytes go to the upstream directly.
    const port = planted ? upstream.port : Number(new URL(started.url).port)
    return {
      async try({ text: written, cuts }) {
        const bytes = Buffer.from(written.replace('{{KEY}}', started.key), 'latin1')
        await write(port, bytes, cuts)
        await started.settled()
        judge(upstream, started.key)
        return bytes.length
      },
      async close() {
        for (const end of ends_.toReversed()) await end()
        await upstream.close()
      },
    }
  },
}

/** Writes all bytes and the end, and waits until the other side has closed too. */
async function write(port: number, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
  socket.on('error', () => undefined).resume()
  // If the gateway waits for the rest of a body, the client disconnects, as any client would.
  socket.setTimeout(2_000, () => socket.destroy())
  for (const piece of pieces(bytes, cuts)) {
    socket.write(piece)
    if (cuts.length > 0) await new Promise(resolve => setImmediate(resolve))
  }
  socket.end()
  await closed
}

function judge(upstream: RecordingUpstream, key: string): void {
  const requests = upstream.take()
  insist(requests.length <= 1, () => `the upstream was sent ${requests.length} requests`)
  for (const { method, target, head, body: sent } of requests) {
    insist(method === 'POST', () => `the upstream was sent the method ${method}`)
    insist(
      /^\/v1\/chat\/completions(?:\?[\x21-\x7e]*)?$/.test(target),
      () => `the upstream was sent the target ${target}`,
    )
    insist(!/hidden/i.test(head), () => `the upstream was sent what was hidden: ${head}`)
    insist(!head.includes(key), () => "the upstream was sent the caller's key")
    insist(
      !/[^\x20-\x7e\r]|\r(?!\n)/.test(head.replaceAll('\r\n', '')),
      () => `the upstream was sent an odd head: ${head}`,
    )
    insist(isBody(sent), () => `the upstream was sent another body: ${sent}`)
  }
}

function isBody(sent: string): boolean {
  try {
    const { messages } = JSON.parse(sent) as { messages?: unknown }
    return (
      JSON.stringify(messages) === JSON.stringify((JSON.parse(body) as { messages: unknown }).messages) &&
      !sent.includes('hid')
    )
  } catch {
    return false
  }
}
