import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { CallRequest } from '../../src/engine/call-request.ts'
import { UpstreamCall } from '../../src/engine/upstream-call.ts'
import { Failure } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { patient, planUpstream, startEngine } from '../harness/engine.ts'
import { startRaw } from '../harness/raw-upstream.ts'
import { type Client, startClient, until } from '../harness/upstream-client.ts'

const head = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n'
const timeouts = { ...patient, firstByteMs: 10_000, idleMs: 5_000, totalMs: 60_000, afterLeaveMs: 2_000 }

/** The calls that a relay would receive. */
class Told {
  readonly words: string[] = []
  failure: Error | undefined
  data(chunk: Buffer): void {
    this.words.push(chunk.toString())
  }
  end(): void {
    this.words.push('end')
  }
  cut(failure: Error): void {
    this.words.push('cut')
    this.failure = failure
  }
}

type Server = Client & { readonly asked: readonly Socket[] }

async function startServer(t: Test, connectionsMax = 256): Promise<Server> {
  const asked: Socket[] = []
  return { ...(await startClient(t, socket => void asked.push(socket), { connectionsMax })), asked }
}

function call(server: Server, more: Partial<CallRequest> = {}): UpstreamCall {
  const url = `http://127.0.0.1:${server.port}`
  const request: CallRequest = {
    upstream: planUpstream('vendor', url, { timeouts }),
    method: 'POST',
    path: '/v1/x',
    headers: [],
    body: { kind: 'none' },
    reuse: true,
    ...more,
  }
  const one = new UpstreamCall(request, server.deadlines)
  one.dispatch({ origin: new URL(url), prefix: '', host: 'vendor.example', closes: false, pool: server.pool })
  return one
}

const codeOf = (error: unknown): string => (error instanceof Failure ? error.code : String(error))

/** Sends a text and waits until the client has received it. */
async function say(server: Server, place: number, text: string): Promise<void> {
  await until(() => server.asked.length > place, 'the request')
  await new Promise<void>(resolve => server.asked[place]?.write(text, () => resolve()))
}

/** Passes time in steps of at most 500 ms, with event loop turns in between, as on an idle machine. */
async function pass(server: Server, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    server.clock.pass(Math.min(500, left))
    for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve))
  }
}

t.test('[9.3] a call is unsent until its first byte is written, also while it waits', async t => {
  const server = await startServer(t, 1)
  const first = call(server)
  t.equal(first.reach, 'untouched')
  await until(() => server.asked.length === 1, 'the request')
  t.equal(first.reach, 'unknown')
  const waiting = [call(server), call(server), call(server)]
  waiting[0]?.abort(new Error('gone'))
  await pass(server, 10_100)
  for (const [place, one] of waiting.entries()) t.equal(one.reach, 'untouched', caseName({ place }))
  await t.rejects(waiting[0]?.head as Promise<unknown>, { message: 'gone' })
  t.equal(codeOf(await waiting[1]?.head.catch((error: unknown) => error)), 'upstream_timeout')
  t.equal(codeOf(await first.head.catch((error: unknown) => error)), 'upstream_timeout')
  t.equal(first.reach, 'unknown')
  await pass(server, 1_000)
  t.equal(server.asked.length, 1, 'none of the waiting calls was ever sent')
})

t.test('[9.3] silence between two pieces ends a call, and unread time is not silence', async t => {
  const server = await startServer(t)
  const silent = call(server)
  await say(server, 0, `${head}abc`)
  const taker = new Told()
  await silent.head
  silent.start(taker)
  await until(() => taker.words.length === 1, 'the first piece')
  await pass(server, 4_800)
  await say(server, 0, 'd')
  await until(() => taker.words.length === 2, 'the second piece')
  await pass(server, 4_800)
  t.strictSame(taker.words, ['abc', 'd'], 'each piece gives it time anew')
  await pass(server, 500)
  t.strictSame(taker.words, ['abc', 'd', 'cut'])
  t.equal(codeOf(taker.failure), 'deadline_exceeded')
  t.match(taker.failure?.message, /5000 ms/)

  const paused = call(server)
  await say(server, 1, `${head}abc`)
  const slow = new Told()
  await paused.head
  paused.start(slow)
  await until(() => slow.words.length === 1, 'the first piece')
  paused.pause()
  await pass(server, 20_000)
  t.strictSame(slow.words, ['abc'], 'unread time does not count')
  paused.resume()
  await pass(server, 4_500)
  t.strictSame(slow.words, ['abc'], 'from then on it is waited for')
  await say(server, 1, 'def')
  await until(() => slow.words.length === 3, 'the rest')
  t.strictSame(slow.words, ['abc', 'def', 'end'])
})

t.test('[9.3] the whole call has a deadline, read or not, and a shorter one after its client has left', async t => {
  for (const [isLeft, ms] of [
    [false, 60_000],
    [true, 2_000],
  ] as const) {
    const server = await startServer(t)
    const one = call(server)
    await say(server, 0, `${head}abc`)
    const taker = new Told()
    await one.head
    one.start(taker)
    one.pause()
    if (isLeft) one.leave()
    await pass(server, ms - 300)
    t.notOk(taker.failure, caseName({ isLeft }))
    await pass(server, 500)
    t.equal(codeOf(taker.failure), 'deadline_exceeded', caseName({ isLeft }))
  }
})

t.test('[9.3] little of an unread answer is read ahead, and nothing of it is lost', async t => {
  const server = await startServer(t)
  const one = call(server)
  const size = 20_000_000
  await until(() => server.asked.length === 1, 'the request')
  const [socket] = server.asked as [Socket]
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
  let isTaken = false
  socket.write(Buffer.alloc(size, 'a'), () => {
    isTaken = true
  })
  await one.head
  await pass(server, 20_000)
  t.notOk(isTaken, 'the system holds the rest')
  let bytes = 0
  const { promise: over, resolve } = Promise.withResolvers<void>()
  one.start({ data: chunk => void (bytes += chunk.length), end: resolve, cut: () => resolve() })
  await over
  t.equal(bytes, size)
})

t.test('[9.3] no callback is repeated, late, or of another answer', async t => {
  const server = await startServer(t)
  const one = call(server)
  await say(server, 0, `${head}abcdef`)
  await one.head
  const taker = new Told()
  one.start(taker)
  await until(() => taker.words.includes('end'), 'the end')
  const next = call(server)
  await until(() => server.asked.length === 2, 'the next, on the same connection')
  t.equal(server.sockets.length, 1)
  // Calls on the first request no longer reach the connection.
  one.pause()
  one.resume()
  one.leave()
  one.stop(new Error('late'))
  one.abort(new Error('later'))
  one.fail(new Error('latest'))
  await say(server, 1, `${head}123456`)
  await next.head
  const other = new Told()
  next.start(other)
  await until(() => other.words.includes('end'), 'its end')
  t.strictSame([taker.words, other.words].flat(), ['abcdef', 'end', '123456', 'end'])
  const given = call(server)
  await until(() => server.asked.length === 3, 'the third')
  given.abort(new Error('gone'))
  const none = new Told()
  given.start(none)
  t.strictSame(none.words, [], 'an abandoned call gets no callback')
})

t.test('[9.3] an unwritable request is a fault of ours, and nothing is sent', async t => {
  const { post, upstreams, faults } = await startEngine(t, {
    hooks: { onForward: (_context, out) => ({ ...out, headers: { 'x-trace': 'a\r\nx-evil: b' } }) },
  })
  const answer = await post()
  t.equal(answer.status, 500)
  t.match(await answer.json(), { error: { code: 'internal_error' } })
  t.equal(upstreams[0]?.received.length, 0)
  t.match(faults.join(), /x-trace/)
})

t.test('[9.3] an upstream that switches protocols unasked is 502', async t => {
  for (const lines of ['', 'Upgrade: websocket\r\nConnection: upgrade\r\n']) {
    const url = await startRaw(t, socket => socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`))
    const { post } = await startEngine(t, { upstreams: [{ url }] })
    t.match(await (await post()).json(), { error: { code: 'upstream_invalid', message: /protocols/ } }, lines)
  }
})
