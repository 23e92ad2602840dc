import t from 'tap'
import { clipSnippet } from '../../src/engine/error-snippet.ts'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'

const chat = { model: 'sim-chat', max_tokens: 10, messages: [{ role: 'user', content: 'Say hello.' }] }

t.test('a refusal by a limit names the limit and the time to wait', async t => {
  const { upstream, post, logs } = await start(t, {
    upstreams: ['text'],
    edit: [{ 'groups/default/rpm': 1 }],
  })
  upstream.answer({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  t.equal((await post('/v1/chat/completions', chat)).status, 200)
  const refused = await post('/v1/chat/completions', chat)
  t.equal(refused.status, 429)
  const [record] = await logs()
  t.match(record, {
    error: 'rate_limit_exceeded',
    error_values: { limit: 'user_rpm', max: 1, counts: 'requests', of: 'default' },
    upstream_said: null,
  })
  t.equal(String(record?.error_values?.['seconds']), refused.headers.get('retry-after'))
})

t.test('a spent budget reports its owner, the remaining and the requested amount', async t => {
  const { post, newKey, logs } = await start(t, { upstreams: ['alpha'] })
  const { key } = await newKey({ budget: 10_000 })
  const answer = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' }, bearer(key))
  t.equal(answer.status, 402)
  const [record] = await logs()
  t.match(record, {
    error: 'insufficient_quota',
    error_values: { budget: 'key', available: '0.01', held: '0.00', currency: 'USD', renews: null },
  })
})

t.test("an upstream's refusal is stored, shortened, without our key and without quotations", async t => {
  const { upstream, post, logs } = await start(t, { upstreams: ['text'] })
  const prompt = 'a very long and private prompt about something that nobody else is meant to read, ever'
  const cases: readonly (readonly [body: string, said: string | null])[] = [
    [JSON.stringify({ error: { message: 'The engine is overloaded', type: 'server' } }), 'The engine is overloaded'],
    [JSON.stringify({ error: { message: 'bad key upstream-secret-of-text' } }), 'bad key ***********************'],
    [JSON.stringify({ error: { message: `Refused: "${prompt}"` } }), 'Refused: "…"'],
    [JSON.stringify({ errors: [{ detail: 'no' }] }), 'no'],
    [JSON.stringify({ code: 7 }), null],
    ['<html>Bad gateway</html>', null],
    ['upstream connect error', 'upstream connect error'],
    [`{"error":{"message":"first","more":"${'x'.repeat(20_000)}"}}`, 'first'],
  ]
  for (const [body, snippet] of cases) {
    upstream.answer(res => void res.writeHead(500, { 'content-type': 'application/json' }).end(body))
    const answer = await post('/v1/chat/completions', chat)
    await answer.text()
    const [record] = await logs()
    t.match(record, { status: 500, upstream_said: snippet }, caseName({ snippet }))
  }
})

t.test('third-party messages are stored shortened, and without possible secrets', async t => {
  for (const [text, kept] of [
    ['a\n  b', 'a b'],
    [`bad key sk-abcdefghijkl`, 'bad key …'],
    [`see https://cdn.example/x.png?sig=abc for more`, 'see https://cdn.example/x.png?… for more'],
    [`got ${'QUJD'.repeat(20)}`, 'got …'],
    ['the "size" is wrong', 'the "size" is wrong'],
  ] as const)
    t.equal(clipSnippet(text), kept, caseName({ text }))
  t.equal(clipSnippet('word '.repeat(200)).length, 301)
})

function bearer(key: string) {
  return { authorization: `Bearer ${key}` }
}
