import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { exchangeRaw } from '../harness/wire.ts'
import { start } from '../harness/start.ts'

const started = await start(t)
const { url, key } = started
const upstream = started.upstreams['text'] as NonNullable<(typeof started.upstreams)[string]>
upstream.answer({
  id: 'r',
  object: 'response',
  output: [],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
})
const body = JSON.stringify({ model: 'sim-chat', input: 'hi' })

function head(line: string, ...lines: readonly string[]): string {
  const own = ['Host: gateway', `Authorization: Bearer ${key}`, 'Connection: close']
  return `${[line, ...own, ...lines].join('\r\n')}\r\n\r\n`
}

t.test('header names with underscores are accepted, except names about framing, forwarding or signing', async t => {
  const fixed = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  for (const line of [
    'session_id: 0199',
    'conversation_id: 0199',
    'content_length: 5',
    'transfer_encoding: chunked',
    'x_forwarded_for: 10.0.0.1',
    'Content_Type: text/plain',
    'content_encoding: gzip',
    'x_api_key: x',
    'authorization_: x',
    'expect_: y',
  ]) {
    const answer = await exchangeRaw(url, head('POST /v1/responses HTTP/1.1', ...fixed, line) + body)
    t.equal(answer.status, 200, line)
    const sent = Object.keys(upstream.received.at(-1)?.headers ?? {})
    t.same(
      sent.filter(name => name.includes('_')),
      [],
      line,
    )
    t.equal(upstream.received.at(-1)?.body.toString(), body, line)
  }
  const bad = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  const anonymous = head('POST /v1/responses HTTP/1.1', ...bad, `x_api_key: ${key}`).replace(/Authorization.*\r\n/, '')
  t.equal(
    (await exchangeRaw(url, anonymous + body)).status,
    401,
    'no key is read from a name like that of a header for keys',
  )
})

t.test('a WebSocket at an HTTP path gets 426 at once', async t => {
  for (const path of ['/v1/embeddings', '/v1/v1/embeddings', '/v1/embeddings?x=1', '/v1/chat/completions']) {
    const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
    const answer = await exchangeRaw(
      url,
      head(`GET ${path} HTTP/1.1`, ...upgrade).replace('Connection: close', 'Connection: Upgrade'),
    )
    t.equal(answer.status, 426, path)
    t.match(answer.headers, { upgrade: 'HTTP/1.1', connection: /upgrade/i, 'x-should-retry': 'false' }, path)
    t.match(JSON.parse(answer.body.toString()), { error: { code: 'websocket_unsupported' } }, path)
  }
  t.equal((await exchangeRaw(url, head('GET /v1/embeddings HTTP/1.1'))).status, 405, caseName({ upgrade: false }))
})
