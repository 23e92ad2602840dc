import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'

const answer = { id: 'resp_1', object: 'response', output: [], usage: { input_tokens: 1, output_tokens: 1 } }
const ask = { model: 'sim-chat', input: 'hi' }
const messages = { model: 'sim-messages', max_tokens: 16, messages: [{ role: 'user', content: 'hi' }] }

t.test('forwards the headers of known agents, and returns the response headers that they need', async t => {
  const { post, upstreams } = await start(t)
  const text = upstreams['text'] as NonNullable<(typeof upstreams)[string]>
  text.answer(res => {
    const own = { 'x-codex-turn-state': 'turn-7', 'openai-model': 'gpt-x', 'set-cookie': 'a=b', 'x-vendor': 'no' }
    const account = { 'openai-organization': 'org-1', 'x-ratelimit-limit-requests': '9', 'x-request-id': 'theirs' }
    res.writeHead(200, { 'content-type': 'application/json', ...own, ...account }).end(JSON.stringify(answer))
  })
  const sent = {
    'session-id': 's1',
    'thread-id': 't1',
    'x-client-request-id': 'c1',
    'x-codex-turn-metadata': '{}',
    // With this header, the tools of the body are items of the input.
    'x-openai-internal-codex-responses-lite': 'true',
    'x-openai-subagent': 'review',
  }
  const kept = { cookie: 'a=b', 'openai-organization': 'org-2', 'x-forwarded-for': '10.0.0.1', 'x-other': 'no' }
  const response = await post('/v1/responses', ask, { ...sent, ...kept, session_id: 'ignored' })
  t.equal(response.status, 200)
  t.match(text.received[0]?.headers, { ...sent, authorization: 'Bearer upstream-secret-of-text' })
  for (const name in kept) t.equal(text.received[0]?.headers[name], undefined, caseName({ name }))
  t.equal(response.headers.get('x-codex-turn-state'), 'turn-7')
  t.equal(response.headers.get('openai-model'), 'gpt-x')
  for (const name of ['set-cookie', 'x-vendor', 'openai-organization'])
    t.equal(response.headers.get(name), null, caseName({ name }))
  t.match(response.headers.get('x-request-id'), /^req_/, 'the id is ours')

  text.answer({ id: 'msg_1', type: 'message', content: [], usage: { input_tokens: 1, output_tokens: 1 } })
  const beta = { 'anthropic-beta': 'context-1m', 'x-app': 'cli', 'x-claude-code-session-id': 'u1' }
  t.equal((await post('/v1/messages', messages, beta)).status, 200)
  t.match(text.received[1]?.headers, beta)
})

t.test('forwards additional headers by name or prefix, and keeps the headers that the upstream defines', async t => {
  const { post, upstreams } = await start(t, {
    edit: [
      {
        'families/mine': {
          forward: { chat: { all: true } },
          forward_headers: ['X-One', 'x-two-*', 'x-fixed'],
          reply_headers: ['x-back-*'],
          'token-usage': {},
        },
      },
      { 'models/sim-chat/family': 'mine' },
      { 'upstreams/text/headers': { 'x-fixed': 'ours' } },
    ],
  })
  const text = upstreams['text'] as NonNullable<(typeof upstreams)[string]>
  text.answer(res => void res.writeHead(200, { 'content-type': 'application/json', 'x-back-a': '1' }).end('{"id":"c"}'))
  const chat = { model: 'sim-chat', messages: [] }
  const sent = { 'x-one': '1', 'x-two-a': '2', 'x-three': '3', 'x-fixed': 'theirs', 'session-id': 's' }
  const response = await post('/v1/chat/completions', chat, sent)
  const got = text.received[0]?.headers ?? {}
  t.match(got, { 'x-one': '1', 'x-two-a': '2', 'x-fixed': 'ours' })
  t.same([got['x-three'], got['session-id']], [undefined, undefined], 'what the family does not name stays here')
  t.equal(response.headers.get('x-back-a'), '1')
})

t.test('refuses a configuration that forwards headers for credentials, framing or accounts', async t => {
  const { reload } = await start(t)
  let before = 'families:\n'
  for (const [key, name] of [
    ['forward_headers', 'authorization'],
    ['forward_headers', 'Cookie'],
    ['forward_headers', 'x-api-key'],
    ['forward_headers', 'content-length'],
    ['forward_headers', 'x-forwarded-for'],
    ['forward_headers', 'openai-organization'],
    ['forward_headers', '"*"'],
    ['reply_headers', 'set-cookie'],
    ['reply_headers', 'transfer-encoding'],
    ['reply_headers', 'openai-organization'],
    ['reply_headers', '"*"'],
  ] as const) {
    const put = `families:\n  mine: { ${key}: [${name}] }\n`
    const result = await reload([[before, put]])
    before = put
    t.match(JSON.stringify(result), /gateway\.yaml.*header/, caseName({ key, name }))
  }
  const put = 'families:\n  mine: { forward_headers: [x-mine, "x-my-*"], reply_headers: [x-mine] }\n'
  t.notMatch(JSON.stringify(await reload([[before, put]])), /gateway\.yaml:/)
})
