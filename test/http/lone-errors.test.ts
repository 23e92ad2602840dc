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
