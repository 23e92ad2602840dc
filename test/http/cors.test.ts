import t from 'tap'
import { startEngine } from '../harness/engine.ts'
import { caseName } from '../harness/case-name.ts'

const chat = '/v1/chat/completions'
const mine = 'https://app.example'
const asking = {
  origin: mine,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,x-stainless-lang,x-anything-new',
}
/** A plugin that refuses every request. */
const locked = {
  onRequest(): never {
    throw new Error('a preflight was asked for its key')
  },
}

function corsNames(headers: Headers): string[] {
  return [...headers.keys()].filter(name => name.startsWith('access-control-'))
}

t.test('a preflight is answered before any key look-up, with the requested headers', async t => {
  const { url, upstreams, rows } = await startEngine(t, { server: { corsOrigins: [mine] }, hooks: locked })
  const answer = await fetch(url + chat, { method: 'OPTIONS', headers: asking })
  t.equal(answer.status, 204)
  t.equal(answer.headers.get('access-control-allow-origin'), mine)
  t.equal(answer.headers.get('access-control-allow-methods'), 'POST')
  t.equal(answer.headers.get('access-control-allow-headers'), asking['access-control-request-headers'])
  t.equal(answer.headers.get('access-control-max-age'), '7200')
  t.match(answer.headers.get('vary'), /Origin/)
  t.equal(answer.headers.get('content-length'), null)
  t.match(answer.headers.get('x-request-id'), /^req_/)
  t.equal(upstreams[0]?.received.length, 0)
  t.equal(rows.length, 0)
})

t.test('only listed origins are allowed; * allows any', async t => {
  for (const [origins, origin, may] of [
    [[mine], mine, true],
    [[mine], 'https://app.example.evil', false],
    [[mine], 'http://app.example', false],
    [[mine], 'https://APP.example', false],
    [[mine], 'null', false],
    [[mine, 'https://other.example'], 'https://other.example', true],
    [['*'], 'https://whoever.example', true],
    [['*'], 'null', true],
  ] as const) {
    const { url, post } = await startEngine(t, { server: { corsOrigins: [...origins] } })
    const title = `${origins.join(' ')} for ${origin}`
    const preflight = await fetch(url + chat, { method: 'OPTIONS', headers: { ...asking, origin } })
    t.equal(preflight.status, may ? 204 : 405, title)
    t.equal(preflight.headers.get('access-control-allow-origin'), may ? origin : null, title)
    const answer = await post(chat, { origin })
    t.equal(answer.status, 200, title)
    t.equal(answer.headers.get('access-control-allow-origin'), may ? origin : null, title)
    t.equal(answer.headers.get('access-control-allow-credentials'), null, 'keys are no cookies')
    t.match(answer.headers.get('vary'), /Origin/, 'a cache keeps the answers to different origins apart')
  }
})

t.test('the origin can read answers, streams and errors, with the headers about retries', async t => {
  const { url, post, upstreams } = await startEngine(t, { server: { corsOrigins: [mine] } })
  const [upstream] = upstreams
  const headers = { origin: mine }
  upstream?.answerOnce(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n'))
  upstream?.answerOnce(
    res => void res.writeHead(429, { 'access-control-allow-origin': '*', 'retry-after': '3' }).end('{}'),
  )
  upstream?.answerOnce((_res, _received, req) => void req.socket.destroy())
  for (const [status, answer] of [
    [200, await post(chat, headers)],
    [429, await post(chat, headers)],
    [502, await post(chat, headers)],
    [404, await post(chat, headers, { model: 'unknown' })],
    [415, await post(chat, { ...headers, 'content-type': 'text/plain' })],
    [404, await fetch(`${url}/nothing`, { headers })],
    [405, await fetch(url + chat, { headers })],
    [400, await fetch(`${url}/v1/x%00`, { headers })],
  ] as const) {
    await answer.text()
    t.equal(answer.status, status, caseName({ status, answer }))
    t.equal(answer.headers.get('access-control-allow-origin'), mine, `${status} of ours, not of the upstream’s`)
    t.match(answer.headers.get('access-control-expose-headers'), /x-request-id.*retry-after/, String(status))
  }
})

t.test('without configured origins no CORS header is sent', async t => {
  const { url, post, upstreams } = await startEngine(t)
  upstreams[0]?.answer(
    res =>
      void res.writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' }).end('{}'),
  )
  for (const [status, answer] of [
    [405, await fetch(url + chat, { method: 'OPTIONS', headers: asking })],
    [200, await post(chat, { origin: mine })],
    [404, await fetch(`${url}/nothing`, { headers: { origin: mine } })],
  ] as const) {
    t.equal(answer.status, status, caseName({ status, answer }))
    t.strictSame(corsNames(answer.headers), [], String(status))
  }
})

t.test('other clients than browsers get no such headers, and a plain OPTIONS is no preflight', async t => {
  const { url, post } = await startEngine(t, { server: { corsOrigins: ['*'] } })
  t.strictSame(corsNames((await post()).headers), [])
  const options = await fetch(url + chat, { method: 'OPTIONS', headers: { origin: mine } })
  t.equal(options.status, 405)
  t.equal(options.headers.get('allow'), 'POST')
})
