import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { UnsendableRequest } from '../../src/engine/upstream/wire-fault.ts'
import { type RequestHead, writeHead } from '../../src/engine/upstream/write-head.ts'
import { Wire } from '../fuzz/readers/read-answer.ts'
import { caseName } from '../harness/case-name.ts'
import { type Client, type Question, listenRaw, openClient, startClient, until } from '../harness/upstream-client.ts'

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
const plain: RequestHead = { method: 'POST', path: '/v1/x', host: 'vendor.example', headers: [], reuse: true }

/** The request that a server received and answered. */
async function sent(t: Test, question: Question): Promise<string> {
  let received = ''
  const { answer } = await startClient(t, (socket, text) => {
    received = text
    socket.write(ok)
  })
  t.equal((await answer(question)).error, undefined)
  return received
}

/** Sockets that count their writes. */
function counted(port: number) {
  const sizes: number[] = []
  const sockets: Socket[] = []
  const open = (): Promise<Socket> =>
    new Promise(resolve => {
      const socket: Socket = connect({ port, host: '127.0.0.1' }, () => {
        const write = socket._write.bind(socket)
        const writev = socket._writev?.bind(socket)
        socket._write = (chunk, encoding, done) => {
          sizes.push(chunk.length)
          write(chunk, encoding, done)
        }
        socket._writev = (chunks, done) => {
          sizes.push(chunks.reduce((sum, { chunk }) => sum + chunk.length, 0))
          writev?.(chunks, done)
        }
        sockets.push(socket)
        resolve(socket)
      })
    })
  return { sizes, sockets, open }
}

t.test('[9.3] a head has the host, the connection, the list in order, and the length', t => {
  t.equal(
    writeHead({ ...plain, headers: ['user-agent', 'tollgate', 'X-Tab', 'a\tb', 'x-word', 'caf\u00e9', 'x-empty', ''] }),
    'POST /v1/x HTTP/1.1\r\nhost: vendor.example\r\nconnection: keep-alive\r\nuser-agent: tollgate\r\nX-Tab: a\tb\r\nx-word: caf\u00e9\r\nx-empty: \r\n',
  )
  t.match(writeHead({ ...plain, reuse: false }), /\r\nconnection: close\r\n$/)
  t.equal(
    writeHead({ ...plain, headers: ['Host', 'other', 'Connection', 'close'] }),
    writeHead(plain),
    'what others have read is not written twice',
  )
  for (const host of ['[::1]:8080', '127.0.0.1:1', 'vendor.example'])
    t.match(writeHead({ ...plain, host }), `\r\nhost: ${host}\r\n`, host)
  t.end()
})

t.test('[9.3] no part of a request can become another line, or frame the body otherwise', t => {
  const odd: { readonly [what: string]: Partial<RequestHead> } = {
    'a path that is none': { path: 'x' },
    'an empty path': { path: '' },
    'a blank in the path': { path: '/a b' },
    'a line break in the path': { path: '/a\r\nX: y' },
    'a NUL in the path': { path: '/a\0' },
    'a path beyond latin1': { path: '/\u4e2d' },
    'a blank in the method': { method: 'GET /' },
    'an empty method': { method: '' },
    'a line break in the host': { host: 'a\r\nX: y' },
    'an empty host': { host: '' },
    'a name without a value': { headers: ['x-a'] },
    'an empty name': { headers: ['', 'b'] },
    'a blank in a name': { headers: ['x a', 'b'] },
    'a colon in a name': { headers: ['x:', 'b'] },
    'a line break in a name': { headers: ['x\r\ny', 'b'] },
  }
  for (const [what, more] of Object.entries(odd))
    t.throws(() => writeHead({ ...plain, ...more }), UnsendableRequest, what)
  for (const sign of ['\r', '\n', '\0', '\r\n', '\u0001', '\u007f', '\u0100', '\u560a'])
    for (const value of [sign, `a${sign}b`, `a${sign}`, `${sign}a`])
      t.throws(() => writeHead({ ...plain, headers: ['x-a', value] }), UnsendableRequest, JSON.stringify(value))
  for (const name of ['Content-Length', 'transfer-encoding', 'Keep-Alive', 'upgrade', 'Expect'])
    t.throws(() => writeHead({ ...plain, headers: [name, '1'] }), UnsendableRequest, name)
  t.end()
})

t.test('[9.3] the length of a body is in a request once, and only if one is sent or expected', async t => {
  const framing = (text: string): readonly string[] =>
    text.match(/(?:content-length|transfer-encoding): [^\r]*/gi) ?? []
  const stream = (...chunks: string[]): Readable => Readable.from(chunks.map(chunk => Buffer.from(chunk)))
  const cases: readonly (readonly [what: string, question: Question, framing: readonly string[]])[] = [
    ['a GET', { method: 'GET' }, []],
    ['a DELETE', { method: 'DELETE' }, []],
    ['a POST without a body', { method: 'POST' }, ['content-length: 0']],
    ['an empty body', { body: Buffer.alloc(0) }, ['content-length: 0']],
    ['a small body', { body: Buffer.from('{}') }, ['content-length: 2']],
    ['one beyond a piece of memory', { body: Buffer.alloc(20_000, 'a') }, ['content-length: 20000']],
    ['one beyond a write', { body: Buffer.alloc(100_000, 'a') }, ['content-length: 100000']],
    ['a stream of known length', { source: stream('ab', 'c'), bytes: 3 }, ['content-length: 3']],
    ['a stream', { source: stream('ab', 'c') }, ['transfer-encoding: chunked']],
    ['a stream that is empty', { source: stream() }, ['content-length: 0']],
  ]
  for (const [what, question, expected] of cases) t.strictSame(framing(await sent(t, question)), expected, what)
})

t.test('[9.3] bodies arrive unchanged, whatever their length and source', async t => {
  for (const size of [0, 1, 300, 16_000, 16_384, 65_536, 65_537, 262_144, 300_000, 1_000_003]) {
    const body = Buffer.from(Array.from({ length: size }, (_, i) => 97 + (i % 23)))
    const text = body.toString('latin1')
    const whole = await sent(t, { body })
    t.ok(whole.endsWith(`\r\n\r\n${text}`), `${size} at hand`)
    const pieces = (): Readable => Readable.from(slices(body, 7_001))
    t.ok((await sent(t, { source: pieces(), bytes: size })).endsWith(`\r\n\r\n${text}`), `${size} as they come`)
    t.equal(unchunked(await sent(t, { source: pieces() })), text, `${size} in chunks`)
  }
})

function* slices(bytes: Buffer, length: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

function unchunked(text: string): string {
  let rest = text.slice(text.indexOf('\r\n\r\n') + 4)
  let whole = ''
  for (;;) {
    const [line = ''] = rest.split('\r\n', 1)
    const size = Number.parseInt(line, 16)
    if (!(size > 0)) return whole
    whole += rest.slice(line.length + 2, line.length + 2 + size)
    rest = rest.slice(line.length + 4 + size)
  }
}

t.test('[9.3] a request whose body is small is one write', async t => {
  const server = await listenRaw(t, socket => void socket.on('data', () => void socket.write(ok)))
  const { sizes, open } = counted(server.port)
  const { answer } = openClient(t, server, { connect: open })
  for (const body of [undefined, Buffer.from('{}'), Buffer.alloc(15_000), Buffer.alloc(65_000)]) {
    sizes.length = 0
    t.equal((await answer({ body: body as Buffer })).error, undefined, `${body?.length} bytes`)
    t.equal(sizes.length, 1, `${body?.length} bytes`)
  }
})

t.test('[9.3] the socket buffers little of an unread body', async t => {
  const server = await listenRaw(t, socket => void socket.pause())
  const { sockets, open } = counted(server.port)
  const client = openClient(t, server, { connect: open })
  let made = 0
  const endless = new Readable({
    read() {
      made += 65_536
      this.push(Buffer.alloc(65_536))
    },
  })
  const requests = [client.ask({ body: Buffer.alloc(50_000_000) }), client.ask({ source: endless })]
  await Promise.all(requests.map(one => one.started.promise))
  const most = (): number => Math.max(...sockets.map(socket => socket.writableLength))
  let last = -1
  for (let quiet = 0; quiet < 50; quiet = last === made ? quiet + 1 : 0) {
    last = made
    t.ok(most() < 400_000, `${most()} bytes`)
    await new Promise(resolve => setImmediate(resolve))
  }
  for (const one of requests) one.connection?.abort()
  t.ok(endless.destroyed, 'and its source is stopped')
})

t.test('[9.3] an early answer is read, and its connection carries no more', async t => {
  const refusal = 'HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'
  for (const how of ['stays', 'ends', 'resets later'] as const)
    for (const kind of ['at hand', 'as it comes'] as const) {
      const server = await listenRaw(t, socket => {
        socket.once('data', () => {
          socket.pause()
          socket.write(refusal, () => {
            if (how === 'ends') socket.end()
            if (how === 'resets later') setTimeout(() => socket.destroy(), 10)
          })
        })
      })
      const client = openClient(t, server)
      const source = new PassThrough()
      source.on('error', () => undefined).write(Buffer.alloc(30_000))
      const question = kind === 'at hand' ? { body: Buffer.alloc(40_000_000) } : { source, bytes: 40_000_000 }
      for (let i = 0; i < 2; i++) {
        const { head, body, error } = await client.answer(question)
        t.match([head?.status, body.toString(), error], [413, 'no', undefined], caseName({ how, kind, i }))
        if (kind === 'as it comes') break
      }
      if (kind === 'as it comes') t.ok(source.destroyed, 'the source of the body is stopped')
      else t.equal(client.sockets.length, 2, caseName({ how, kind }))
    }
})

t.test('[9.3] an answer in the receive buffer is read after a failed write', async t => {
  const refusal = 'HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'
  for (const code of ['EPIPE', 'ECONNRESET'])
    for (const size of [10, 100_000]) {
      /** A socket that accepts no writes; data received before is still readable. */
      class Deaf extends Wire {
        override _write(_chunk: unknown, _encoding: BufferEncoding, done: (error?: Error) => void): void {
          setImmediate(() => this.push(refusal))
          done(Object.assign(new Error('no'), { code }))
        }
        override _writev(_chunks: unknown, done: (error?: Error) => void): void {
          this._write(_chunks, 'utf8', done)
        }
      }
      let dials = 0
      const server = await listenRaw(t, () => undefined)
      const client = openClient(t, server, {
        connect: () => {
          dials++
          return Promise.resolve(new Deaf() as unknown as Socket)
        },
      })
      for (let i = 0; i < 2; i++) {
        const { head, body } = await client.answer({ body: Buffer.alloc(size) })
        t.match([head?.status, body.toString()], [413, 'no'], caseName({ code, size, i }))
      }
      t.equal(dials, 2, 'where its request ended is not known')
    }
})

t.test('[9.3] a body that breaks off, or has another length than declared, is never a whole request', async t => {
  const begun = (): PassThrough => {
    const source = new PassThrough()
    source.on('error', () => undefined).write('abc')
    return source
  }
  const broken = (source: Readable): unknown => source.destroy(new Error('the disk is gone'))
  const gone = (source: Readable): unknown => source.destroy()
  const cases: readonly (readonly [
    what: string,
    source: () => Readable,
    bytes: number | undefined,
    then?: (source: Readable) => unknown,
  ])[] = [
    ['breaks off', begun, 10, broken],
    ['breaks off in chunks', begun, undefined, broken],
    ['ends without an end', begun, undefined, gone],
    ['has broken off before', () => begun().destroy(new Error('the disk is gone')), 10],
    ['has gone before', () => begun().destroy(), undefined],
    ['is too short', () => Readable.from([Buffer.from('abc')]), 10],
    ['is too long', () => Readable.from([Buffer.from('abc'), Buffer.from('def')]), 4],
  ]
  for (const [what, make, bytes, then] of cases) {
    let whole = 0
    const received: string[] = []
    const server = await listenRaw(t, socket => {
      let text = ''
      socket.on('data', more => {
        text += more.toString('latin1')
        if (text.endsWith('0\r\n\r\n') || (bytes !== undefined && text.length >= text.indexOf('\r\n\r\n') + 4 + bytes))
          whole++
      })
      socket.on('close', () => void received.push(text))
      socket.on('end', () => socket.end())
    })
    const client = openClient(t, server)
    const source = make()
    const onStart = (): void => void (then && setImmediate(() => then(source)))
    const { error } = await client.answer({ source, onStart, ...(bytes !== undefined && { bytes }) })
    t.ok(error, what)
    if (then === broken) t.match(error, { message: 'the disk is gone' }, what)
    await until(() => received.length === 1, 'the end of the connection')
    t.equal(whole, 0, `${what}: ${JSON.stringify(received)}`)
  }
})

t.test('[9.3] an upstream that closes early stops the source of the body', async t => {
  for (const how of ['end', 'reset'] as const) {
    const client: Client = openClient(
      t,
      await listenRaw(t, socket => {
        socket.once('data', () => (how === 'end' ? socket.end() : socket.resetAndDestroy()))
      }),
    )
    const source = new PassThrough()
    source.write('abc')
    const closed = once(source, 'close')
    t.ok((await client.answer({ source })).error, how)
    await closed
    t.ok(source.destroyed, how)
  }
})
