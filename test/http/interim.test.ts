import type { Socket } from 'node:net'
import t from 'tap'
import { startEngine } from '../harness/engine.ts'
import { picture } from '../harness/pictures.ts'
import { startRaw } from '../harness/raw-upstream.ts'
import { start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const interim: { readonly [what: string]: string } = {
  'a 100': 'HTTP/1.1 100 Continue\r\n\r\n',
  'a 100 without a reason': 'HTTP/1.1 100\r\n\r\n',
  'a 100 with headers': 'HTTP/1.1 100 Continue\r\nDate: now\r\nX-A: b\r\nServer: old\r\n\r\n',
  'a 100 that closes': 'HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n',
  'a 100 of HTTP/1.0': 'HTTP/1.0 100 Continue\r\n\r\n',
  'a 100 with a length': 'HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n',
  'a 102': 'HTTP/1.1 102 Processing\r\n\r\n',
  hints: 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n',
  'an unknown one': 'HTTP/1.1 150 Nobody Knows\r\n\r\n',
  'all of them twice, in another order':
    'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 199 Odd\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'.repeat(
      2,
    ),
  '40 of them': 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n'.repeat(20),
}
const final = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"ok":true}'

/** Sends each byte in a packet of its own, as far as the system allows. */
async function drip(socket: Socket, bytes: string): Promise<void> {
  for (const byte of Buffer.from(bytes, 'latin1')) await send(socket, Buffer.from([byte]))
}

function send(socket: Socket, bytes: string | Buffer): Promise<void> {
  return new Promise(resolve => socket.write(bytes, () => setImmediate(resolve)))
}

const ways: { readonly [way: string]: (socket: Socket, before: string) => unknown } = {
  'in one packet': (socket, before) => socket.write(before + final),
  'in a packet before': (socket, before) => send(socket, before).then(() => send(socket, final)),
  'byte by byte': (socket, before) => drip(socket, before + final),
}

t.test('any interim answers before the answer are skipped, in one packet or in many [6.5]', async t => {
  let write = (socket: Socket): unknown => socket
  const url = await startRaw(t, socket => write(socket))
  const { post, settled, rows, faults } = await startEngine(t, { upstreams: [{ url }] })
  for (const [what, bytes] of Object.entries(interim))
    for (const [way, put] of Object.entries(ways)) {
      write = socket => put(socket, bytes)
      const answer = await post()
      t.equal(answer.status, 200, `${what}, ${way}`)
      t.equal(await answer.text(), '{"ok":true}', `${what}, ${way}`)
      // The next request gets its own answer, on the same connection or another.
      write = socket => socket.write(final.replace('true', 'null'))
      t.same(await (await post()).json(), { ok: null }, `${what}, ${way}: the next`)
    }
  await settled()
  t.strictSame(faults, [])
  t.ok(rows.every(row => row.status === 200))
})

t.test('a paid picture after an unsolicited 100 arrives and is charged once [6.5]', async t => {
  const { upstream, post, charges } = await start(t)
  const body = JSON.stringify({ created: 1, data: [picture(1254, 1254)] })
  upstream.answerOnce(({ socket }) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    socket?.write(`HTTP/1.1 100 Continue\r\n\r\n${head}${body}`)
  })
  const answer = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
  t.equal(answer.status, 200)
  t.equal((await answer.text()).length, body.length)
  t.match(await charges(), [{ state: 'settled', amount: '0.04' }])
})

t.test('interim answers are read during a long upload [6.5]', async t => {
  const { post, upstreams } = await startEngine(t)
  const long = { model: 'anything', text: 'x'.repeat(3_000_000) }
  upstreams[0]?.server.prependListener('request', (_req, { socket }) => socket?.write('HTTP/1.1 100 Continue\r\n\r\n'))
  upstreams[0]?.answer((res, received) => void res.end(String(received.body.length)))
  const answer = await post(undefined, {}, long)
  t.equal(answer.status, 200)
  t.equal(await answer.text(), String(JSON.stringify(long).length))
})

t.test('an upstream with endless interim answers is abandoned, by their bytes [6.5]', async t => {
  const url = await startRaw(t, pour)
  const { post, settled } = await startEngine(t, { upstreams: [{ url }] })
  const answer = await post()
  t.equal(answer.status, 502)
  t.match(await answer.json(), { error: { code: 'upstream_invalid' } })
  await settled()
})

t.test('an interim answer on an idle connection, after an answer, reaches no client [6.5]', async t => {
  const evil = 'HTTP/1.1 100 Continue\r\n\r\n'
  const poison = final.replace('true', 'evil')
  const url = await startRaw(t, (socket, _request, count) =>
    socket.write(count % 2 === 0 ? final + evil + poison : final),
  )
  const { post } = await startEngine(t, { upstreams: [{ url }] })
  for (let i = 0; i < 20; i++) t.equal(await (await post()).text(), '{"ok":true}', caseName({ i }))
})

t.test('a body that looks like an interim answer is a body [6.5]', async t => {
  const body = `HTTP/1.1 100 Continue\r\n\r\n${final}`
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`
  const url = await startRaw(t, async socket => {
    await send(socket, `HTTP/1.1 100 Continue\r\n\r\n${head}`)
    await send(socket, body)
  })
  const { post } = await startEngine(t, { upstreams: [{ url }] })
  for (let i = 0; i < 3; i++) t.equal(await (await post()).text(), body, caseName({ i }))
})

function pour(socket: Socket): void {
  const many = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)
  const more = (): void => {
    if (!socket.destroyed) socket.write(many, () => setImmediate(more))
  }
  more()
}
