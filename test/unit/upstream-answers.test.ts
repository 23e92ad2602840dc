import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import {
  type Asked,
  openClient,
  type Question,
  listenRaw,
  startClient,
  until,
  writePieces,
} from '../harness/upstream-client.ts'
import { ConnectionClosed, WireFault } from '../../src/engine/upstream/wire-fault.ts'

const ok = 'HTTP/1.1 200 OK\r\n'

/** Reads bytes in pieces of this length from a server that then ends, resets or keeps the connection. */
async function read(
  t: Test,
  bytes: string,
  { pieces = bytes.length || 1, after = 'stay', question = {} }: Told = {},
): Promise<Asked> {
  const { answer } = await startClient(t, socket => void write(socket, bytes, pieces, after))
  return answer(question)
}

type Told = {
  readonly pieces?: number
  readonly after?: 'stay' | 'end' | 'reset'
  readonly question?: Question
}

async function write(socket: Socket, bytes: string, pieces: number, after: string): Promise<void> {
  await writePieces(socket, Buffer.from(bytes, 'latin1'), pieces)
  if (after === 'end') socket.end()
  if (after === 'reset') socket.resetAndDestroy()
}

t.test('[9.3] an answer is read the same however its bytes are split', async t => {
  const long = 'x'.repeat(1_000)
  const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`
  const answers: {
    readonly [what: string]: readonly [bytes: string, body: string, after?: 'end' | 'stay', method?: string]
  } = {
    counted: [`${ok}Content-Length: 1000\r\n\r\n${long}`, long],
    'of no length': [`${ok}Content-Length: 0\r\n\r\n`, ''],
    'in one chunk': [`${chunked}3e8\r\n${long}\r\n0\r\n\r\n`, long],
    'in many chunks': [`${chunked}${'5\r\nabcde\r\n'.repeat(100)}0\r\n\r\n`, 'abcde'.repeat(100)],
    'in chunks with extensions': [`${chunked}2;a=b;c="d e"\r\n{}\r\n0;last\r\n\r\n`, '{}'],
    'in chunks with zeros before their sizes': [`${chunked}0002\r\n{}\r\n0\r\n\r\n`, '{}'],
    'in chunks with trailers': [`${chunked}2\r\n{}\r\n0\r\nX-A: b\r\nX-C: d\r\n\r\n`, '{}'],
    'until the connection ends': [`${ok}\r\n${long}`, long, 'end'],
    'of HTTP/1.0': [`HTTP/1.0 200 OK\r\n\r\n${long}`, long, 'end'],
    'a 204': ['HTTP/1.1 204 No Content\r\n\r\n', ''],
    'a 304 with a length': ['HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n', ''],
    'to a HEAD': [`${ok}Content-Length: 1000\r\n\r\n`, '', 'stay', 'HEAD'],
    'without a reason': ['HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}', '{}'],
    'behind interim ones': [
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n${ok}Content-Length: 2\r\n\r\n{}`,
      '{}',
    ],
  }
  for (const [what, [bytes, body, after = 'stay', method = 'POST']] of Object.entries(answers))
    for (const pieces of [bytes.length, 1, 7]) {
      const answer = await read(t, bytes, { pieces, after, question: { method } })
      const at = `${what}, ${pieces} bytes at a time`
      t.equal(answer.error, undefined, at)
      t.equal(answer.body.toString('latin1'), body, at)
      t.strictSame(
        answer.told.filter(one => one !== 'data'),
        ['start', ...answer.interim.map(({ status }) => String(status)), String(answer.head?.status), 'end'],
        at,
      )
    }
})

t.test(
  '[9.3] a head is reported as received: names in lower case, values in latin1 without blanks, lists in order',
  async t => {
    const { head } = await read(
      t,
      `${ok}Content-Length: 0\r\nX-One:  a b\t \r\nSET-COOKIE: a=1\r\nset-cookie: b=2\r\nSet-Cookie:c=3\r\nX-Empty:\r\nX-Word: caf\u00e9\r\n__proto__: x\r\nconstructor: y\r\n\r\n`,
    )
    t.same(
      { ...head?.headers },
      {
        'content-length': '0',
        'x-one': 'a b',
        'set-cookie': ['a=1', 'b=2', 'c=3'],
        'x-empty': '',
        'x-word': 'caf\u00e9',
        ['__proto__']: 'x',
        constructor: 'y',
      },
    )
    t.ok(Object.hasOwn(head?.headers ?? {}, '__proto__'), 'a name like any other')
  },
)

t.test('[9.3] invalid HTTP/1.1 is refused at once, however it is split', async t => {
  const plain = `${ok}Content-Length: 2\r\n`
  const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`
  const faults: { readonly [what: string]: string } = {
    'another protocol': 'SSH-2.0-OpenSSH_9.9\r\n',
    'a version that is none': 'HTTP/1.9 200 OK\r\n\r\n',
    'another version': 'HTTP/2.0 200 OK\r\n\r\n',
    'a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
    'a status of four digits': 'HTTP/1.1 2000 OK\r\n\r\n',
    'a status with a sign': 'HTTP/1.1 +20 OK\r\n\r\n',
    'a tab in the first line': 'HTTP/1.1\t200 OK\r\n\r\n',
    'a blank line before it': `\r\n${plain}\r\n{}`,
    'a control character in the reason': 'HTTP/1.1 200 O\u0001K\r\n\r\n',
    'no colon': `${plain}nonsense\r\n\r\n{}`,
    'no name': `${plain}: b\r\n\r\n{}`,
    'a blank before the colon': `${plain}X-A : b\r\n\r\n{}`,
    'a blank in a name': `${plain}X A: b\r\n\r\n{}`,
    'a folded line': `${plain}X-A: b\r\n c\r\n\r\n{}`,
    'a folded line of a tab': `${plain}X-A: b\r\n\tc: d\r\n\r\n{}`,
    'a lone LF': `${plain}X-A: b\nX-C: d\r\n\r\n{}`,
    'a lone CR': `${plain}X-A: b\rX-C: d\r\n\r\n{}`,
    'a NUL in a value': `${plain}X-A: b\u0000c\r\n\r\n{}`,
    'a DEL in a value': `${plain}X-A: b\u007fc\r\n\r\n{}`,
    'a length with a sign': `${ok}Content-Length: +2\r\n\r\n{}`,
    'a negative length': `${ok}Content-Length: -2\r\n\r\n{}`,
    'an empty length': `${ok}Content-Length:\r\n\r\n{}`,
    'a list of lengths': `${ok}Content-Length: 2, 2\r\n\r\n{}`,
    'a length in hexadecimal digits': `${ok}Content-Length: 0x2\r\n\r\n{}`,
    'a length beyond counting': `${ok}Content-Length: 9999999999999999\r\n\r\n{}`,
    'two lengths': `${plain}Content-Length: 2\r\n\r\n{}`,
    'a length and chunks': `${plain}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'chunks twice': `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'another coding': `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'a chunk without a size': `${chunked}\r\n{}\r\n0\r\n\r\n`,
    'a size that is no number': `${chunked}2g\r\n{}\r\n0\r\n\r\n`,
    'a size with a prefix': `${chunked}0x2\r\n{}\r\n0\r\n\r\n`,
    'a size behind a blank': `${chunked} 2\r\n{}\r\n0\r\n\r\n`,
    'a size before a blank': `${chunked}2 \r\n{}\r\n0\r\n\r\n`,
    'a negative size': `${chunked}-2\r\n{}\r\n0\r\n\r\n`,
    'a size beyond counting': `${chunked}fffffffffffffffff\r\n`,
    'a size before a lone LF': `${chunked}2\n{}\r\n0\r\n\r\n`,
    'contents longer than their size': `${chunked}2\r\n{}}\r\n0\r\n\r\n`,
    'contents before a lone LF': `${chunked}2\r\n{}\n0\r\n\r\n`,
    'a lone CR in an extension': `${chunked}2;a\rb\r\n{}\r\n0\r\n\r\n`,
    'a NUL in an extension': `${chunked}2;a\u0000\r\n{}\r\n0\r\n\r\n`,
    'a trailer without a name': `${chunked}2\r\n{}\r\n0\r\n: b\r\n\r\n`,
    'a folded trailer': `${chunked}2\r\n{}\r\n0\r\n X-A: b\r\n\r\n`,
    'a trailer without a colon': `${chunked}2\r\n{}\r\n0\r\nnonsense\r\n\r\n`,
    'a lone LF in a trailer': `${chunked}2\r\n{}\r\n0\r\nX-A: b\n\r\n`,
    'no line behind the last chunk': `${chunked}2\r\n{}\r\n0\r\nx\u0000`,
  }
  for (const [what, bytes] of Object.entries(faults))
    for (const pieces of [bytes.length, 1]) {
      // The server keeps the connection open: a refused answer must not wait for its end.
      const { error, told } = await read(t, bytes, { pieces })
      t.ok(error instanceof WireFault, `${what}, ${pieces} bytes at a time: ${error}`)
      t.equal(told.at(-1), 'error', caseName({ what, pieces }))
    }
})

t.test('[9.3] heads, interim heads, extensions of chunks and trailers are bounded', async t => {
  const head = (bytes: number): string => {
    const before = `${ok}Content-Length: 0\r\nX-A: `
    return `${before}${'a'.repeat(bytes - before.length - 4)}\r\n\r\n`
  }
  const interim = (bytes: number): string => head(bytes).replace('200 OK', '103 OK')
  const body = (extension: number, trailer: number): string =>
    `${ok}Transfer-Encoding: chunked\r\n\r\n1;${'e'.repeat(extension)}\r\nx\r\n0\r\n${trailer ? `t:${'t'.repeat(trailer - 1)}\r\n` : ''}\r\n`
  const cases: readonly (readonly [what: string, bytes: string, isRead: boolean])[] = [
    ['a head of 16,384 bytes', head(16_384), true],
    ['a head of 16,385 bytes', head(16_385), false],
    ['an interim head of 16,384 bytes', interim(16_384) + head(100), true],
    ['an interim head of 16,385 bytes', interim(16_385) + head(100), false],
    ['extensions of 16,384 bytes', body(16_384, 0), true],
    ['extensions of 16,385 bytes', body(16_385, 0), false],
    ['trailers of 16,384 bytes', body(0, 16_384), true],
    ['trailers of 16,385 bytes', body(0, 16_385), false],
    ['a head without an end', `${ok}X-A: ${'a'.repeat(20_000)}`, false],
  ]
  for (const [what, bytes, isRead] of cases)
    for (const pieces of [bytes.length, 5_000]) {
      const { error } = await read(t, bytes, { pieces })
      t.equal(error === undefined, isRead, `${what}, ${pieces} bytes at a time: ${error}`)
      if (!isRead) t.ok(error instanceof WireFault, caseName({ what, pieces }))
    }
})

t.test('[9.3] an answer that breaks off is incomplete, and what came before is reported before', async t => {
  const cut: { readonly [what: string]: readonly [bytes: string, body: string] } = {
    nothing: ['', ''],
    'half a head': ['HTTP/1.1 200 OK\r\nContent-Ty', ''],
    'an interim answer alone': ['HTTP/1.1 102 Processing\r\n\r\n', ''],
    'half a body': [`${ok}Content-Length: 10\r\n\r\nhello`, 'hello'],
    'half a chunk': [`${ok}Transfer-Encoding: chunked\r\n\r\na\r\nhello`, 'hello'],
    'no last chunk': [`${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`, 'hello'],
    'half a last chunk': [`${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n`, 'hello'],
  }
  for (const [what, [bytes, body]] of Object.entries(cut))
    for (const after of ['end', 'reset'] as const) {
      const answer = await read(t, bytes, { after })
      t.ok(answer.error, `${what}, ${after}`)
      if (after === 'end') t.ok(answer.error instanceof ConnectionClosed, caseName({ what, after }))
      // A reset may overtake the data sent before it.
      if (after === 'end') t.equal(answer.body.toString(), body, caseName({ what, after }))
    }
  const reset = await read(t, `${ok}\r\nhello`, { after: 'reset' })
  t.match(reset.error, { code: 'ECONNRESET' }, 'nor is one without a length, when the connection is reset')
})

t.test('[9.3] contents before a broken chunk in the same read are reported', async t => {
  const answer = await read(t, `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworldX`)
  t.ok(answer.error instanceof WireFault)
  t.equal(answer.body.toString(), 'helloworld')
})

t.test('[9.3] reported bytes stay unchanged while others are reported', async t => {
  const size = 300_000
  const letter = (i: number): string => String.fromCharCode(97 + i)
  const { ask } = await startClient(t, (socket, text) => {
    const mine = /x-letter: (\w)/.exec(text)?.[1] ?? ''
    const head = mine === 'a' ? `Content-Length: ${size}\r\n\r\n` : 'Transfer-Encoding: chunked\r\n\r\n'
    const body = mine.repeat(size)
    const frames = Array.from({ length: 30 }, () => `2710\r\n${mine.repeat(10_000)}\r\n`).join('')
    void writePieces(socket, Buffer.from(ok + head + (mine === 'a' ? body : `${frames}0\r\n\r\n`)), 7_777)
  })
  const requests = Array.from({ length: 8 }, (_, i) => ask({ headers: ['x-letter', letter(i)] }))
  for (const [i, one] of requests.entries()) {
    const { body, error } = await one.over.promise
    t.equal(error, undefined, caseName({ i }))
    t.ok(body.equals(Buffer.alloc(size, letter(i))), caseName({ i }))
  }
})

t.test('[9.3] a large answer arrives in large pieces, and chunks received together stay together', async t => {
  const size = 8_000_000
  const big = Buffer.alloc(size, 'a')
  for (const coding of ['counted', 'chunked', 'until the end']) {
    const server = await listenRaw(t, socket => {
      socket.once('data', () => {
        const head = { counted: `Content-Length: ${size}\r\n\r\n`, chunked: 'Transfer-Encoding: chunked\r\n\r\n' }[
          coding
        ]
        const frames = Array.from({ length: size / 1_000 }, () => `3e8\r\n${'a'.repeat(1_000)}\r\n`).join('')
        socket.write(ok + (head ?? '\r\n'))
        if (coding === 'chunked') socket.write(`${frames}0\r\n\r\n`)
        else socket.end(big)
      })
    })
    const answer = await openClient(t, server).answer()
    t.equal(answer.error, undefined, coding)
    t.ok(answer.body.equals(big), coding)
    t.ok(answer.chunks.length < size / 16_384, `${coding}: ${answer.chunks.length} pieces`)
    // Memory is twice the size of the last read, framing included: 7 bytes per 1,000.
    const read = coding === 'chunked' ? 1.01 : 1
    t.ok(
      answer.chunks.every(chunk => chunk.buffer.byteLength <= Math.max(65_536, chunk.length * 2 * read)),
      `${coding}: none keeps more than twice its memory`,
    )
  }
})

t.test(
  '[9.3] a receiver that abandons a request in any callback gets no further one, and the connection ends',
  async t => {
    const bytes = `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n`
    for (const at of ['start', 'head', 'data'] as const)
      for (const pieces of [bytes.length, 1]) {
        const { ask, sockets } = await startClient(t, socket => void writePieces(socket, Buffer.from(bytes), pieces))
        const giveUp = ({ connection }: Asked): void => connection?.abort()
        const request = ask({
          ...(at === 'head' && { onHead: giveUp }),
          ...(at === 'data' && { onData: giveUp }),
        })
        await request.started.promise
        if (at === 'start') giveUp(request)
        await until(() => sockets[0]?.readableEnded === true || sockets[0]?.destroyed === true, `${at}: its end`)
        const expected = { start: ['start'], head: ['start', '200'], data: ['start', '200', 'data'] }[at]
        t.strictSame(request.told, expected, caseName({ at, pieces }))
      }
  },
)

t.test('[9.3] while the answer is not read its upstream is not read, and all of it arrives afterwards', async t => {
  const size = 40_000_000
  let taken = 0
  const { ask } = await startClient(t, socket => {
    socket.write(`${ok}Content-Length: ${size}\r\n\r\n`)
    const piece = Buffer.alloc(1_000_000, 'a')
    const more = (): void => {
      if (taken === size) return
      taken += piece.length
      socket.write(piece, more)
    }
    more()
  })
  const request = ask({ onHead: ({ connection }) => connection?.pause() })
  await request.headed.promise
  let last = -1
  // The body is done once the upload makes no progress for a hundred turns.
  for (let quiet = 0; quiet < 100; quiet = last === taken ? quiet + 1 : 0) {
    last = taken
    await new Promise(resolve => setImmediate(resolve))
  }
  t.ok(request.body.length <= 262_144, `${request.body.length} bytes while it stands`)
  t.ok(taken < size, `${taken} of ${size} bytes are with the system`)
  request.connection?.resume()
  const { body } = await request.over.promise
  t.equal(body.length, size)
})
