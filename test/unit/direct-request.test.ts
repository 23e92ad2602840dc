import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type BodyTaker, DirectRequest } from '../../src/engine/direct-request.ts'
import { caseName } from '../harness/case-name.ts'

/** The calls that a handler received, in order. */
class Told implements BodyTaker {
  readonly chunks: Buffer[] = []
  readonly order: string[] = []
  readonly over: Promise<void>
  #resolve!: () => void

  constructor() {
    this.over = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  data(chunk: Buffer): void {
    this.chunks.push(Buffer.from(chunk))
    this.order.push('data')
  }

  end(): void {
    this.order.push('end')
    this.#resolve()
  }

  gone(): void {
    this.order.push('gone')
    this.#resolve()
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }
}

type Handle = (req: DirectRequest, res: ServerResponse) => void

/** Serves direct requests; returns a socket to the server. */
async function open(t: Test, handle: Handle): Promise<{ readonly socket: Socket; readonly text: () => string }> {
  const options = { IncomingMessage: DirectRequest as typeof IncomingMessage }
  const server = createServer(options, (req, res) => handle(req as DirectRequest, res))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => {
    socket.destroy()
    server.close()
  })
  let text = ''
  socket.setEncoding('latin1').on('data', chunk => (text += chunk))
  await once(socket, 'connect')
  return { socket, text: () => text }
}

const post = (body: string, more = ''): string =>
  `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`

t.test('bodies reach their receiver completely, one request after the other on one connection', async t => {
  const takers: Told[] = []
  const { socket, text } = await open(t, (req, res) => {
    const taker = new Told()
    takers.push(taker)
    t.equal(req.handTo(taker), true, 'the body is handed over')
    void taker.over.then(() => res.end(`got ${taker.text.length}`))
  })
  const bodies = ['a', 'b'.repeat(100_000), '{}', 'c'.repeat(65_536)]
  for (const [i, body] of bodies.entries()) {
    socket.write(post(body))
    while (!text().includes(`got ${body.length}`)) await once(socket, 'data')
    t.equal(takers[i]?.text, body, caseName({ i }))
    t.equal(takers[i]?.order.at(-1), 'end', caseName({ i }))
    t.equal(takers[i]?.order.filter(one => one !== 'data').length, 1, caseName({ i }))
  }
})

t.test('pipelined requests are answered in order', async t => {
  const { socket, text } = await open(t, (req, res) => {
    const taker = new Told()
    req.handTo(taker)
    void taker.over.then(() => res.end(`<${taker.text}>`))
  })
  socket.write(['one', 'two', 'three'].map(body => post(body)).join(''))
  while (!text().includes('<three>')) await once(socket, 'data')
  t.same(text().match(/<\w+>/g), ['<one>', '<two>', '<three>'])
})

t.test('chunked bodies, and bodies that arrive byte by byte', async t => {
  const { socket, text } = await open(t, (req, res) => {
    const taker = new Told()
    req.handTo(taker)
    void taker.over.then(() => res.end(`<${taker.text}>`))
  })
  const message = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n'
  for (const byte of message) {
    socket.write(byte)
    await new Promise(resolve => setImmediate(resolve))
  }
  while (!text().includes('<abcde>')) await once(socket, 'data')
  t.match(text(), /200 OK/)
})

t.test('a client that leaves in the middle is reported once, and never as an end', async t => {
  const taker = new Told()
  const { socket } = await open(t, req => void req.handTo(taker))
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc')
  while (taker.chunks.length === 0) await new Promise(resolve => setImmediate(resolve))
  socket.destroy()
  await taker.over
  t.same(taker.order, ['data', 'gone'])
})

t.test('an abandoned body flows as a stream, and the connection serves the next request', async t => {
  let requests = 0
  const { socket, text } = await open(t, (req, res) => {
    const isFirst = ++requests === 1
    const taker = new Told()
    req.handTo(taker)
    void taker.over.then(() => res.end('second'))
    if (!isFirst) return
    req.keep()
    req.resume()
    req.once('end', () => res.end('first'))
  })
  socket.write(post('x'.repeat(300_000)))
  while (!text().includes('first')) await once(socket, 'data')
  socket.write(post('y'))
  while (!text().includes('second')) await once(socket, 'data')
  t.equal(requests, 2)
})

t.test('a body that has begun to arrive is not handed over', async t => {
  const answers: boolean[] = []
  const { socket, text } = await open(t, (req, res) => {
    setImmediate(() => {
      answers.push(req.handTo(new Told()))
      req.resume().once('end', () => res.end('done'))
    })
  })
  socket.write(post('abc'))
  while (!text().includes('done')) await once(socket, 'data')
  t.same(answers, [false])
})

t.test('a request whose body was handed over ends like any other', async t => {
  const closed = Promise.withResolvers<object>()
  const { socket, text } = await open(t, (req, res) => {
    const taker = new Told()
    req.handTo(taker)
    void taker.over.then(() => {
      res.end('done')
      res.once('close', () => {
        const { complete, readableEnded, readableFlowing } = req
        closed.resolve({ complete, readableEnded, readableFlowing })
      })
    })
  })
  socket.write(post('abc'))
  while (!text().includes('done')) await once(socket, 'data')
  t.same(await closed.promise, { complete: true, readableEnded: true, readableFlowing: true }, 'its stream has ended')
})
