import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { start } from '../harness/start.ts'

t.test("answers /healthz and /readyz on the clients' port without a key, by GET and HEAD", async t => {
  const { url, logs } = await start(t, { simulated: true })
  for (const [path, text] of [
    ['/healthz', 'ok\n'],
    ['/readyz', 'ready\n'],
    ['/readyz?from=balancer', 'ready\n'],
  ] as const) {
    const answer = await fetch(url + path)
    t.equal(answer.status, 200, path)
    t.equal(await answer.text(), text, path)
    t.equal(answer.headers.get('cache-control'), 'no-store', path)
    t.match(answer.headers.get('x-request-id'), /^req_/, path)
    const head = await fetch(url + path, { method: 'HEAD' })
    t.strictSame([head.status, await head.text()], [200, ''], path)
  }
  t.strictSame(await logs(), [], 'nothing is logged')
})

t.test('answers an HTTP/1.0 probe without a host, as HAProxy sends it', async t => {
  const { url } = await start(t, { simulated: true })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end('GET /readyz HTTP/1.0\r\n\r\n')
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  t.match(text, /^HTTP\/1\.1 200 OK\r\n[^]*ready\n$/)
})

t.test('returns 503 at /readyz while the gateway stops, and 200 at /healthz until it has stopped', async t => {
  const { url, gateway } = await start(t, {
    simulated: true,
    edit: [{ 'server/drain_wait': '1s' }],
  })
  const closing = gateway.close()
  const ask = async (path: string): Promise<number | undefined> => {
    const req = request(url + path, { agent: false }).end()
    const [res] = (await once(req, 'response')) as [{ statusCode?: number; resume(): void }]
    res.resume()
    return res.statusCode
  }
  t.strictSame([await ask('/readyz'), await ask('/healthz')], [503, 200])
  await closing
})

t.test('leaves other methods and paths to the routes, and a route at these paths has precedence', async t => {
  const { url, key } = await start(t, { simulated: true })
  t.equal((await fetch(`${url}/healthz`, { method: 'POST' })).status, 404)
  t.equal((await fetch(`${url}/healthz/more`)).status, 404)
  const own = await start(t, {
    simulated: true,
    edit: [['  - { match: [GET /v1/models, ', '  - { match: [GET /healthz, ']],
  })
  t.equal((await fetch(`${own.url}/healthz`)).status, 401, 'the route requires a key')
  t.match(key, /^sk-/)
})
