import { type Socket } from 'node:net'
import t from 'tap'
import { ConnectionClosed } from '../../src/engine/upstream/wire-fault.ts'
import { caseName } from '../harness/case-name.ts'
import { HandTime } from '../harness/hand-time.ts'
import { type Asked, type Client, listenRaw, openClient, startClient, until } from '../harness/upstream-client.ts'

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
const say =
  (text = answer) =>
  (socket: Socket): void =>
    void socket.write(text)

/** A server that answers on demand. */
function startSlow(options: { readonly connectionsMax?: number; readonly clock?: HandTime } = {}) {
  const waiting: Socket[] = []
  const client = startClient(t, socket => void waiting.push(socket), options)
  return client.then(one => ({
    ...one,
    waiting,
    /** Answers the oldest request, after waiting for one if needed. */
    async next(): Promise<void> {
      await until(() => waiting.length > 0, 'a request')
      waiting.shift()?.write(answer)
    },
  }))
}

/** Waits until written data has arrived and was handled. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
}

/** The number of open connections on the server's side. */
const open = ({ sockets }: Client): number =>
  sockets.filter(socket => !socket.readableEnded && !socket.destroyed).length

t.test('[9.3] consecutive requests use one connection', async t => {
  const client = await startClient(t, say())
  for (let i = 0; i < 20; i++) t.equal((await client.answer()).body.toString(), '{}', caseName({ i }))
  t.equal(client.sockets.length, 1)
})

t.test('[9.3] the last used connection is used first, and carries one request at a time', async t => {
  const client = await startSlow()
  const three = [client.ask(), client.ask(), client.ask()]
  await until(() => client.waiting.length === 3, 'all')
  const used = [...client.waiting]
  for (const _ of three) {
    await client.next()
    // In sequence: requests that end in the same turn have no order.
    await turns()
  }
  for (const one of three) t.equal((await one.over.promise).error, undefined, 'answered')
  for (let i = 0; i < 5; i++) {
    const request = client.ask()
    await until(() => client.waiting.length > 0, 'the next')
    t.ok(client.waiting[0] === used[2], caseName({ i }))
    await client.next()
    await request.over.promise
    await turns()
  }
  t.equal(client.sockets.length, 3)
})

t.test('[9.3] requests beyond the maximum of connections wait in order', async t => {
  const client = await startSlow({ connectionsMax: 2 })
  const begun: number[] = []
  const requests = Array.from({ length: 7 }, (_, i) => client.ask({ onStart: () => void begun.push(i) }))
  for (const _ of requests) await client.next()
  for (const one of requests) t.equal((await one.over.promise).error, undefined, 'answered')
  t.strictSame(begun, [0, 1, 2, 3, 4, 5, 6])
  t.equal(client.sockets.length, 2)
})

t.test('reports busy connections, and waits of the last five minutes', async t => {
  const clock = new HandTime()
  const client = await startSlow({ connectionsMax: 1, clock })
  const { pool } = client
  t.match(pool.status, { busy: 0, most: 1, waiting: 0, waits: { count: 0, p50Ms: null, p95Ms: null } })
  const requests = [client.ask(), client.ask(), client.ask()]
  await until(() => client.waiting.length === 1, 'the first')
  t.match(pool.status, { busy: 1, most: 1, waiting: 2 })
  clock.pass(200)
  await client.next()
  await until(() => client.waiting.length === 1, 'the second')
  clock.pass(600)
  await client.next()
  await client.next()
  for (const one of requests) t.equal((await one.over.promise).error, undefined, 'answered')
  await turns()
  // The first request waited for its connection to open.
  t.match(pool.status, { busy: 0, most: 1, waiting: 0, waits: { count: 3, p50Ms: 200, p95Ms: 800 } })
  clock.pass(300_001)
  t.match(pool.status, { waits: { count: 0, p50Ms: null } })
})

t.test('[9.3] a request leaves the queue at once, from any position, and none of its bytes is sent', async t => {
  const client = await startSlow({ connectionsMax: 1 })
  const requests = ['one', 'two', 'three', 'four', 'five'].map(name => client.ask({ path: `/${name}` }))
  await until(() => client.waiting.length === 1, 'the first')
  for (const place of [1, 3, 4]) {
    const one = requests[place] as Asked
    t.equal(one.line?.size, { 1: 4, 3: 3, 4: 2 }[place], caseName({ place }))
    one.line?.leave(one)
    t.equal(one.line, undefined, caseName({ place }))
  }
  const text: string[] = []
  client.sockets[0]?.on('data', bytes => void text.push(bytes.toString()))
  await client.next()
  await client.next()
  await requests[2]?.over.promise
  t.strictSame(
    requests.map(one => one.told.at(-1)),
    ['end', undefined, 'end', undefined, undefined],
  )
  t.notMatch(text.join(''), /two|four|five/)
})

t.test('[9.3] a connection that will close, or an old one without a keep-alive, carries no more', async t => {
  const cases: readonly (readonly [what: string, answer: string, connections: number])[] = [
    ['close', answer.replace('Content', 'Connection: close\r\nContent'), 3],
    ['close in a list', answer.replace('Content', 'Connection: x-a, Close\r\nContent'), 3],
    ['close in a second line', answer.replace('Content', 'Connection: x-a\r\nConnection: close\r\nContent'), 3],
    ['something else that has it in its name', answer.replace('Content', 'Connection: close-not\r\nContent'), 1],
    ['HTTP/1.0', answer.replace('1.1', '1.0'), 3],
    ['HTTP/1.0 that stays', answer.replace('1.1', '1.0').replace('Content', 'Connection: keep-alive\r\nContent'), 1],
    [
      'HTTP/1.0 that stays, in chunks, which it does not know',
      'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
      3,
    ],
    ['a 204', 'HTTP/1.1 204 No Content\r\n\r\n', 1],
    ['a 204 of some length', 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n', 3],
    ['bytes behind it', `${answer}HTTP/1.1 200 OK\r\n`, 3],
    ['an interim answer that closes', `HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n${answer}`, 1],
    ['no time to stay', answer.replace('Content', 'Keep-Alive: timeout=2\r\nContent'), 3],
  ]
  for (const [what, text, connections] of cases) {
    const client = await startClient(t, say(text))
    for (let i = 0; i < 3; i++) t.equal((await client.answer()).error, undefined, caseName({ what, i }))
    t.equal(client.sockets.length, connections, what)
  }
})

t.test('[9.3] an idle connection is closed after four seconds, or before its upstream would', async t => {
  const cases: readonly (readonly [header: string, ms: number])[] = [
    ['X: y', 4_000],
    ['Keep-Alive: timeout=5', 3_000],
    ['Keep-Alive: max=100, Timeout=12', 10_000],
    ['Keep-Alive: timeout=75', 30_000],
    ['Keep-Alive: timeout=x', 4_000],
  ]
  for (const [header, ms] of cases) {
    const client = await startClient(t, say(answer.replace('Content', `${header}\r\nContent`)))
    await client.answer()
    await turns()
    client.clock.pass(ms - 100)
    await turns()
    t.equal(open(client), 1, `${header}: just before`)
    client.clock.pass(700)
    await until(() => open(client) === 0, `${header}: its end`)
    await client.answer()
    t.equal(client.sockets.length, 2, caseName({ header, ms }))
  }
})

t.test('[9.3] an expired connection is not used, although it was not checked yet', async t => {
  const client = await startClient(t, say())
  await client.answer()
  await turns()
  client.clock.ms += 4_001
  await client.answer()
  t.equal(client.sockets.length, 2)
})

t.test('[9.3] unsolicited data of an upstream ends the connection, and reaches no request', async t => {
  const client = await startClient(t, (socket, text) => {
    socket.write(answer.replace('{}', text.includes('/b') ? '[]' : '{}'))
    // The unsolicited response arrives separately, after the answer.
    if (!text.includes('/b')) setImmediate(() => socket.write(answer.replace('{}', '!!')))
  })
  for (let i = 0; i < 20; i++) {
    await client.answer({ path: '/a' })
    const { length } = client.sockets
    if (i % 2 === 1) {
      // The unsolicited response arrives while the connection is idle.
      await client.answer({ path: '/b' })
      await turns()
      client.sockets.at(-1)?.write(answer.replace('{}', '!!'))
      await until(() => client.sockets.at(-1)?.readableEnded === true, 'the end of what spoke unasked')
      continue
    }
    await until(() => client.sockets[length - 1]?.readableEnded === true, 'the end of what said too much')
    t.equal((await client.answer({ path: '/b' })).body.toString(), '[]', caseName({ i }))
  }
})

t.test('[9.3] an idle connection is checked before use: an ended one is not used', async t => {
  const client = await startClient(t, say())
  let failed = 0
  for (let i = 0; i < 50; i++) {
    const answer = await client.answer()
    if (answer.error) failed++
    await turns()
    // Longer than an idle connection is trusted without a check.
    client.clock.ms += 1_000
    // The connection has closed, and the client has not noticed yet.
    client.sockets.at(-1)?.destroy()
  }
  t.equal(failed, 0)
  t.equal(client.sockets.length, 50)
})

t.test('[9.3] a request for a new connection gets an unused one, and leaves none behind', async t => {
  const client = await startClient(t, say(), { connectionsMax: 2 })
  await Promise.all([client.answer(), client.answer()])
  await turns()
  t.equal(open(client), 2)
  for (let i = 0; i < 5; i++) {
    t.equal((await client.answer({ fresh: true })).error, undefined, caseName({ i }))
    t.equal(client.sockets.length, 3 + i, caseName({ i }))
  }
  await until(() => open(client) === 1, 'one that idles: the others had to go')
  // More requests than connections, next to others that accept any connection.
  const many = Array.from({ length: 20 }, (_, i) => client.answer({ fresh: i % 2 === 0 }))
  for (const one of await Promise.all(many)) t.equal(one.error, undefined, 'answered')
})

t.test('[9.3] a connection that cannot be opened fails one waiting request, and others are tried', async t => {
  let dials = 0
  const server = await listenRaw(t, socket => void socket.on('data', () => socket.write(answer)))
  const { connect } = await import('node:net')
  const client = openClient(t, server, {
    connect: () =>
      dials++ % 2 === 0
        ? Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }))
        : new Promise(resolve => {
            const socket: Socket = connect({ port: server.port, host: '127.0.0.1' }, () => resolve(socket))
          }),
    connectionsMax: 4,
  })
  const all = await Promise.all(Array.from({ length: 8 }, () => client.answer()))
  const failed = all.filter(({ error }) => error)
  t.ok(failed.length >= 2 && failed.length < 8, `${failed.length} of 8`)
  for (const { told, error } of failed) {
    t.strictSame(told, ['error'], 'and had not begun')
    t.match(error, { code: 'ECONNREFUSED' }, 'why')
  }
})

t.test('[9.3] a connection that cannot be opened does not fail a request that another will serve', async t => {
  let dials = 0
  const server = await listenRaw(t, socket => void socket.on('data', () => socket.write(answer)))
  const { connect } = await import('node:net')
  const client = openClient(t, server, {
    connect: () =>
      dials++ > 0
        ? Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }))
        : new Promise(resolve => {
            const socket: Socket = connect({ port: server.port, host: '127.0.0.1' }, () => resolve(socket))
          }),
  })
  await client.answer()
  // Idle long enough to need a check before use: meanwhile a dial for another request fails.
  client.clock.pass(100)
  const [shared, own] = await Promise.all([client.answer(), client.answer({ fresh: true })])
  t.strictSame(shared.told, ['start', '200', 'data', 'end'], 'he came first, and has the one that was idle')
  t.match(own.error, { code: 'ECONNREFUSED' }, 'his dial it was')
  t.equal(dials, 2)
})

t.test('[9.3] the injected clock ends the wait for a connection', async t => {
  // The server accepts the connection and does not start TLS.
  const server = await listenRaw(t, socket => void socket.resume())
  const client = openClient(t, server, { timeoutMs: 1_000, origin: `https://127.0.0.1:${server.port}` })
  const request = client.ask()
  await until(() => server.sockets.length === 1, 'the connection')
  client.clock.pass(900)
  await turns()
  t.strictSame(request.told, [])
  client.clock.pass(200)
  t.match((await request.over.promise).error, { code: 'ETIMEDOUT' })
  t.strictSame(request.told, ['error'])
  await until(() => open(client) === 0, 'its end')
})

t.test('[9.3] a process stopped past the timeout uses the connection opened meanwhile', async t => {
  const client = await startClient(t, say(), { timeoutMs: 1_000 })
  const request = client.ask()
  // All at once, as after a frozen process: the timer is due before any network event is handled.
  client.clock.pass(5_000)
  t.strictSame((await request.over.promise).told, ['start', '200', 'data', 'end'])
})

t.test('[9.3] a request for a new connection gets it next to one that takes the dial made for it', async t => {
  const client = await startClient(t, say())
  await client.answer()
  // Idle long enough to need a check before use.
  client.clock.pass(100)
  const [shared, own] = [client.ask(), client.ask({ fresh: true })]
  await until(() => shared.told.includes('end') && own.told.includes('end'), 'both, without waiting for anything')
  t.strictSame([shared.error, own.error], [undefined, undefined])
})

t.test('[9.3] a request that fails during its write fails alone', async t => {
  const client = await startClient(t, say(), { connectionsMax: 1 })
  const onStart = (): void => {
    throw new Error('its form is gone')
  }
  const answers = [client.answer({ onStart }), client.answer(), client.answer({ onStart }), client.answer()]
  t.strictSame(
    (await Promise.all(answers)).map(({ error, body }) => error?.message ?? body.toString()),
    ['its form is gone', '{}', 'its form is gone', '{}'],
  )
})

t.test('[9.3] one reachable address of a name is enough', async t => {
  // The server listens only at 127.0.0.1; if `localhost` also resolves to [::1], that address refuses.
  const server = await listenRaw(t, socket => void socket.on('data', () => socket.write(answer)))
  const client = openClient(t, server, { origin: `http://localhost:${server.port}` })
  t.equal((await client.answer()).body.toString(), '{}')
})

t.test('[9.3] a closing pool informs every request, and opens nothing more', async t => {
  const client = await startSlow({ connectionsMax: 1 })
  const requests = [client.ask(), client.ask(), client.ask()]
  await until(() => client.waiting.length === 1, 'the first')
  client.pool.close()
  requests.push(client.ask())
  for (const one of requests) t.ok((await one.over.promise).error instanceof ConnectionClosed, 'told')
  t.strictSame(
    requests.map(({ told }) => told),
    [['start', 'error'], ['error'], ['error'], ['error']],
  )
  await until(() => open(client) === 0, 'the end of its connection')
  t.equal(client.sockets.length, 1)
})
