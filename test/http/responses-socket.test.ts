import { once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { opcodes, writeFrame } from '../../src/engine/sessions/frames.ts'
import { openTalk, Refused, type Talk } from '../harness/web-socket.ts'
import { type Edits, start, type Started } from '../harness/start.ts'

const path = '/v1/responses'
const create = (more: object): object => ({ type: 'response.create', model: 'sim-chat', ...more })

async function talk(t: Test, edit: Edits = []) {
  const on = await start(t, { simulated: true, edit })
  return { on, caller: await openTalk(t, on.url + path, on.key) }
}

async function heldBytes(on: Started): Promise<number> {
  const metrics = await (await fetch(`${on.opsUrl}/metrics`)).text()
  return Number(/^tollgate_bodies_memory_bytes (\d+)$/m.exec(metrics)?.[1])
}

async function close({ socket, closed }: Talk): Promise<void> {
  socket.close()
  await closed
}

t.test('handles each message as a separate request with its own stream events, charge and log row', async t => {
  const { on, caller } = await talk(t)
  t.equal(caller.socket.extensions, '')
  for (const input of ['one', 'two']) {
    caller.send(create({ input, store: false }))
    t.match(await caller.next('response.created'), { response: { status: 'in_progress' } }, input)
    await caller.next('response.output_text.delta')
    t.match(await caller.next('response.completed'), { response: { usage: { output_tokens: Number } } }, input)
  }
  await close(caller)
  const rows = await on.logs()
  const of = rows.find(row => row.status === 101)
  t.match(of, { operation: 'responses', outcome: 'answered', billing: null, model: null })
  const own = rows.filter(row => row.status === 200)
  t.equal(own.length, 2)
  for (const row of own)
    t.match(row, { model: 'sim-chat', client_request_id: of?.id, billing: { state: 'settled' } }, row.id)
  t.ok(caller.events.every(({ type }) => type !== 'error'))
})

t.test('refuses a message as it refuses an HTTP request, and keeps the connection open', async t => {
  const { on, caller } = await talk(t)
  caller.send(create({ model: 'other', input: 'hi' }))
  t.match(await caller.next('error'), { status: 404, error: { code: 'model_not_found' } })
  caller.send({ type: 'response.steer' })
  t.match(await caller.next('error'), { status: 400, error: { code: 'session_request' } })
  caller.socket.send('no json')
  t.match(await caller.next('error'), { error: { code: 'session_request' } })
  caller.socket.send(Buffer.from('{}'), { binary: true })
  t.match(await caller.next('error'), { error: { code: 'session_request' } })
  caller.send(create({ input: 'hi', store: false, previous_response_id: 'resp_elsewhere' }))
  t.match(await caller.next('error'), { status: 404, error: { code: 'previous_response_not_found' } })
  caller.send(create({ input: '[[status 429 7]]' }))
  t.match(await caller.next('error'), { status: 429, headers: { 'retry-after': '7' } })
  caller.send(create({ input: 'hi' }))
  await caller.next('response.completed')
  await close(caller)
  t.equal((await on.logs()).filter(row => row.status === 200).length, 1)
})

t.test('continues a conversation that is not stored, and charges nothing for a warm-up', async t => {
  const { on, caller } = await talk(t)
  caller.send(create({ input: 'instructions', store: false, generate: false }))
  const warm = (await caller.next('response.completed')) as unknown as { response: { id: string } }
  caller.send(create({ input: 'first', store: false, previous_response_id: warm.response.id }))
  const first = (await caller.next('response.completed')) as unknown as {
    response: { id: string; usage: { input_tokens: number } }
  }
  caller.send(create({ input: 'second', store: false, previous_response_id: first.response.id }))
  const second = (await caller.next('response.completed')) as unknown as {
    response: { usage: { input_tokens: number }; previous_response_id: null }
  }
  t.equal(second.response.previous_response_id, null)
  t.ok(second.response.usage.input_tokens > first.response.usage.input_tokens, 'the upstream has got all of it')
  await close(caller)
  t.equal((await on.logs()).filter(row => row.billing).length, 2)
})

t.test('answers requests of one lane in order, and different lanes independently', async t => {
  const { on, caller } = await talk(t)
  caller.send(create({ input: '[[slow 300]] a', stream_id: 'slow' }))
  caller.send(create({ input: 'b', stream_id: 'slow' }))
  caller.send(create({ input: 'c', stream_id: 'quick' }))
  const ended: unknown[] = []
  for (let i = 0; i < 3; i++) ended.push((await caller.next('response.completed'))['stream_id'])
  t.strictSame(ended, ['quick', 'slow', 'slow'])
  await close(caller)
  await on.settled()
})

t.test('refuses an invalid handshake with an HTTP response', async t => {
  const on = await start(t, {
    simulated: true,
    edit: [{ 'routes/4/session/per_key': 1 }],
  })
  const refusal = (key: string | undefined): Promise<unknown> =>
    openTalk(t, on.url + path, key).then(
      () => t.fail('it was opened'),
      (error: unknown) => error,
    )
  t.match(await refusal(undefined), { status: 401 })
  const caller = await openTalk(t, on.url + path, on.key)
  const second = await refusal(on.key)
  t.ok(second instanceof Refused)
  t.match(second, { status: 429, body: /session_limit/ })
  await close(caller)
  t.equal((await on.get(path)).status, 426)
})

t.test('aborts running requests when the client disconnects, and completes them when the gateway stops', async t => {
  const { on, caller } = await talk(t)
  caller.send(create({ input: '[[pause 200]] a long answer' }))
  await caller.next('response.output_text.delta')
  caller.socket.terminate()
  await on.settled()
  t.match(
    (await on.logs()).map(row => row.outcome),
    ['caller_gone', 'caller_gone'],
  )
  const other = await openTalk(t, on.url + path, on.key)
  other.send(create({ input: '[[pause 50]] short' }))
  await other.next('response.created')
  const closing = on.gateway.close()
  await other.next('response.completed')
  t.equal((await other.closed)[0], 1012)
  await closing
})

t.test('ends a session that is idle or sends a message over the size limit', async t => {
  const idle = await talk(t, [{ 'routes/4/session/idle': '200ms', 'routes/4/session/message_max': '64KiB' }])
  t.match(await idle.caller.next('error'), { status: 408, error: { code: 'session_idle' } })
  t.equal((await idle.caller.closed)[0], 1000)
  const caller = await openTalk(t, idle.on.url + path, idle.on.key)
  caller.socket.send('x'.repeat(70_000))
  const [code] = (await once(caller.socket, 'close')) as [number]
  t.equal(code, 1009)
})

t.test('does not read a client that does not read the answers to its messages and pings', async t => {
  const on = await start(t, { simulated: true })
  for (const [name, opcode, text] of [
    ['invalid messages', opcodes.text, 'x'],
    ['pings', opcodes.ping, 'x'.repeat(120)],
    ['warm-ups', opcodes.text, JSON.stringify(create({ generate: false, input: [] }))],
  ] as const) {
    const caller = await openTalk(t, on.url + path, on.key)
    const { _socket: socket } = caller.socket as unknown as { readonly _socket: Socket }
    socket.removeAllListeners('data').pause()
    const frames = Buffer.concat(Array<Buffer>(10_000).fill(writeFrame(opcode, Buffer.from(text), true)))
    // The buffers of the system take some MiB in each direction.
    for (let bytes = 0; bytes < 64 * 1024 * 1024; bytes += frames.length) socket.write(frames)
    for (let last = -1; last !== socket.writableLength; ) {
      last = socket.writableLength
      await new Promise(resolve => setTimeout(resolve, 500))
    }
    t.ok(socket.writableLength > 32 * 1024 * 1024, `${name}: the client holds what it could not send`)
    caller.socket.terminate()
    await caller.closed
  }
})

t.test('messages that are not complete count as memory of bodies', async t => {
  const { on, caller } = await talk(t, [['body_max: 32MiB', 'memory_max: 8MiB\n  body_max: 4MiB']])
  const piece = ' '.repeat(1024 * 1024)
  const begin = ({ socket }: Talk, pieces: number): void => {
    for (let i = 0; i < pieces; i++) {
      socket.send(piece, { fin: false })
      socket.ping()
    }
  }
  begin(caller, 3)
  await once(caller.socket, 'pong')
  while ((await heldBytes(on)) < 3 * piece.length) await new Promise(resolve => setTimeout(resolve, 10))
  const other = await openTalk(t, on.url + path, on.key)
  begin(other, 5)
  t.match(await other.next('error'), { status: 503, error: { code: 'over_capacity' } })
  t.equal((await other.closed)[0], 1013)
  caller.socket.send(JSON.stringify(create({ input: 'one' })), { fin: true })
  t.match(await caller.next('response.completed'), { response: { status: 'completed' } })
  await close(caller)
  await on.settled()
  t.equal(await heldBytes(on), 0)
})
