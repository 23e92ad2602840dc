import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'

// An upstream may answer 200 with an error and nothing else, whatever the operation and whatever type it declares.

const messages = [{ role: 'user', content: 'hi' }]
const requests: readonly (readonly [path: string, body: object])[] = [
  ['/v1/audio/speech', { model: 'sim-speech', voice: 'alloy', input: 'Hello there' }],
  ['/v1/chat/completions', { model: 'sim-chat', messages }],
  ['/v1/chat/completions', { model: 'sim-chat', messages, stream: true }],
  ['/v1/embeddings', { model: 'sim-embedding', input: 'hi' }],
  ['/v1/rerank', { model: 'sim-rerank', query: 'hi', documents: ['a', 'b'] }],
  ['/v1/messages', { model: 'sim-messages', max_tokens: 5, messages }],
  ['/v1/messages', { model: 'sim-messages', max_tokens: 5, messages, stream: true }],
]
const types = ['application/json', 'text/plain', 'audio/mpeg', undefined]
const text = JSON.stringify({ error: { message: 'The quota is used up.', type: 'server_error' } })

for (const credential of ['with a credential', 'without one'])
  t.test(`a lone error with status 200 is an error and costs nothing, from an upstream ${credential}`, async t => {
    const edit = credential === 'without one' ? ([[/ +credential: .*TEXT_API_KEY.*\n/, '']] as const) : ([] as const)
    const { upstreams, post, charges } = await start(t, { upstreams: ['text'], edit })
    for (const type of types)
      for (const end of ['whole', 'cut'])
        for (const [path, body] of requests) {
          upstreams['text']?.answer(res => {
            const length = text.length + (end === 'cut' ? 10 : 0)
            res.writeHead(200, { 'content-length': length, ...(type && { 'content-type': type }) })
            if (end === 'cut') res.write(text, () => res.destroy())
            else res.end(text)
          })
          const of = { path, stream: 'stream' in body, type, end }
          const response = await post(path, body)
          t.ok(response.status >= 500, caseName({ ...of, status: response.status }))
          t.match(await response.text(), /quota is used up/, caseName(of))
        }
    t.same(
      (await charges(1000)).filter(({ state }) => state !== 'voided'),
      [],
    )
  })

t.test('an answer that begins like an error is delivered and charged', async t => {
  const { upstreams, post, charges } = await start(t, { upstreams: ['text'] })
  const answer = {
    error: null,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  }
  for (const type of types) {
    upstreams['text']?.answer(res => {
      res.writeHead(200, type === undefined ? {} : { 'content-type': type })
      const whole = JSON.stringify(answer)
      res.write(whole.slice(0, 5))
      setImmediate(() => res.end(whole.slice(5)))
    })
    const response = await post('/v1/chat/completions', { model: 'sim-chat', messages })
    t.equal(response.status, 200, caseName({ type }))
    t.same(await response.json(), answer, caseName({ type }))
  }
  t.same(
    (await charges()).map(({ state }) => state),
    types.map(() => 'settled'),
  )
})

type Part = string | Buffer

/** Each is nothing but an error, in another form. */
const forms: readonly (readonly [name: string, headers: Record<string, string>, parts: readonly Part[]])[] = [
  ['gzip', { 'content-encoding': 'gzip' }, [gzipSync(text)]],
  ['gzip in pieces', { 'content-encoding': 'gzip' }, [gzipSync(text).subarray(0, 20), gzipSync(text).subarray(20)]],
  ['br', { 'content-encoding': 'br', 'content-type': 'text/plain' }, [brotliCompressSync(text)]],
  ['zstd', { 'content-encoding': 'zstd', 'content-type': 'audio/mpeg' }, [zstdCompressSync(text)]],
  [
    'gzip of events',
    { 'content-encoding': 'gzip', 'content-type': 'text/event-stream' },
    [gzipSync(`data: ${text}\n\n`)],
  ],
  ['a byte order mark', { 'content-type': 'application/json' }, [`\ufeff${text}`]],
  ['events after a byte order mark', { 'content-type': 'text/event-stream' }, [`\ufeffdata: ${text}\n\n`]],
  ['events of another type', { 'content-type': 'application/json' }, [`data: ${text}\n\n`]],
  ['events without a type', {}, [`event: error\n`, `data: ${text}\n\n`]],
  ['events after empty ones', { 'content-type': 'text/event-stream' }, [': ping\n\ndata:\n\n', `data: ${text}\n\n`]],
  ['an error event without data', { 'content-type': 'text/event-stream' }, ['event: error\ndata:\n\n']],
  ['one byte first', { 'content-type': 'audio/mpeg' }, [text.slice(0, 1), text.slice(1)]],
  ['bytes after the head', { 'content-type': 'audio/mpeg' }, ['', text]],
  ['no object', { 'content-type': 'application/json' }, ['{"error":true,"message":"The quota is used up."}']],
]

t.test('a lone error is an error whatever its form', async t => {
  const { upstreams, post, charges } = await start(t, { upstreams: ['text'], edit: [['rpm: 60', 'rpm: 600']] })
  for (const [form, headers, parts] of forms)
    for (const [path, body] of requests) {
      upstreams['text']?.answer(async res => {
        res.writeHead(200, headers).flushHeaders()
        for (const part of parts) {
          res.write(part)
          await new Promise(resolve => setTimeout(resolve, 5))
        }
        res.end()
      })
      const of = { path, stream: 'stream' in body, form }
      const response = await post(path, body)
      t.ok(response.status >= 500, caseName({ ...of, status: response.status }))
      t.match(await response.json(), { error: /./ }, caseName(of))
    }
  t.same(
    (await charges(1000)).filter(({ state }) => state !== 'voided'),
    [],
  )
})

t.test('a compressed answer is delivered and charged', async t => {
  const { upstreams, post, charges } = await start(t, { upstreams: ['text'] })
  const whole = JSON.stringify({
    id: 'x',
    error: null,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi '.repeat(40_000) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  })
  const events = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'Hi' } }] })}\n\n`
  for (const [stream, type, plain] of [
    [false, 'application/json', whole],
    [true, 'text/event-stream', events],
  ] as const)
    for (const pieceBytes of [1e9, 10]) {
      upstreams['text']?.answer(async res => {
        res.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' })
        const packed = gzipSync(plain)
        for (let at = 0; at < packed.length; at += pieceBytes) {
          res.write(packed.subarray(at, at + pieceBytes))
          await new Promise(resolve => setImmediate(resolve))
        }
        res.end()
      })
      const response = await post('/v1/chat/completions', { model: 'sim-chat', messages, stream })
      t.equal(response.status, 200, caseName({ type, pieceBytes }))
      t.equal(await response.text(), plain, caseName({ type, pieceBytes }))
      t.match(await charges(1), [{ state: 'settled' }], caseName({ type, pieceBytes }))
    }
})
