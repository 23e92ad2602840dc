import t from 'tap'
import { phasesOf } from '../../src/index.ts'
import { start } from '../harness/start.ts'
import { movableClock } from '../harness/visitor.ts'

const sse = { 'content-type': 'text/event-stream' }
const event = (content: string): string => `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`
const secondMs = 1_000

t.test("a request records when it was forwarded, its first and last byte, and its charge's commit", async t => {
  const clock = movableClock()
  const { upstream, post, logs } = await start(t, { upstreams: ['text'], clock })
  const { promise: read, resolve: goOn } = Promise.withResolvers<void>()
  upstream.answer(async res => {
    clock.forward(3 * secondMs)
    res.writeHead(200, sse).write(event('a'))
    await read
    res.end(`${event('b')}data: [DONE]\n\n`)
  })
  const answer = await post('/v1/chat/completions', { model: 'sim-chat', stream: true, messages: [] })
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  clock.forward(5 * secondMs)
  goOn()
  while (!(await reader.read()).done);
  const [record] = await logs()
  const { marks } = record ?? {}
  if (!record || !marks) throw new Error('there are no marks')
  const {
    received_ms: received,
    asked_ms: called,
    first_byte_ms: first,
    last_byte_ms: last,
    committed_ms: safe,
  } = marks
  t.ok(received !== null && called !== null && received <= called && called < 3 * secondMs, `asked after ${called} ms`)
  t.ok(first !== null && first >= 3 * secondMs && first < 8 * secondMs, `its first byte after ${first} ms`)
  t.ok(last !== null && last >= 8 * secondMs, `its last after ${last} ms`)
  t.ok(safe !== null && last !== null && safe >= last && safe <= record.duration_ms, `safe after ${safe} ms`)
  t.equal(marks.asked_again_ms, null)
  const phases = phasesOf(record)
  t.strictSame(
    phases.map(({ name }) => name),
    ['body', 'place', 'upstream', 'passing', 'commit', 'end'],
  )
  t.equal(
    phases.reduce((sum, { ms }) => sum + ms, 0),
    record.duration_ms,
    'together they are the whole',
  )
})

t.test('a refused request records the phase in which it was refused', async t => {
  const { post, logs } = await start(t, { upstreams: ['text'] })
  t.equal((await post('/v1/chat/completions', { model: 'no-such', messages: [] })).status, 404)
  const [record] = await logs()
  t.match(record, { marks: { asked_ms: null, first_byte_ms: null, committed_ms: null } })
  t.strictSame(record && phasesOf(record).map(({ name }) => name), ['body', 'place'])
})

t.test('phases that a request never reached are missing, and rows of earlier versions have none', async t => {
  const none = {
    received_ms: null,
    asked_ms: null,
    asked_again_ms: null,
    first_byte_ms: null,
    last_byte_ms: null,
    committed_ms: null,
  }
  t.strictSame(phasesOf({ marks: null, duration_ms: 10 }), [])
  t.strictSame(phasesOf({ marks: none, duration_ms: 10 }), [{ name: 'body', from: 0, ms: 10 }])
  t.strictSame(phasesOf({ marks: { ...none, received_ms: 1, asked_ms: 3, asked_again_ms: 9 }, duration_ms: 30 }), [
    { name: 'body', from: 0, ms: 1 },
    { name: 'place', from: 1, ms: 2 },
    { name: 'retries', from: 3, ms: 6 },
    { name: 'upstream', from: 9, ms: 21 },
  ])
})
