import t from 'tap'
import { loadConfig } from '../../src/index.ts'
import { serve } from '../harness/failover.ts'
import { start } from '../harness/start.ts'

const config = (models: string): string => `
version: 1
currency: USD
server: { listen: "\${TOLLGATE_LISTEN}", ops: "\${TOLLGATE_OPS}" }
storage: "\${TOLLGATE_STORAGE}"
counters: "memory:"
groups: { default: { rpm: 6000 } }
upstreams: { text: { url: "\${TEXT_URL}" } }
pipeline: [auth, ratelimit, token-usage]
families:
  chat:
    forward: { chat: { all: true, except: [user] }, responses: { all: true } }
    defaults: { temperature: 1, top_p: 0.5 }
    token-usage: {}
models:
${models}
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/responses, operation: responses, dialect: openai }
`
const prices = 'prices: { input: "1", output: "1000" }'

t.test(
  "a model's defaults for missing fields are sent and reserved, per operation and before the family's",
  async t => {
    const { upstreams, post, newKey } = await start(t, {
      upstreams: ['text'],
      yaml: config(
        `  low: { family: chat, upstream: text, ${prices}, defaults: { chat: { reasoning_effort: low, temperature: 0.2, max_tokens: 100 } } }
  plain: { family: chat, upstream: text, ${prices} }`,
      ),
    })
    const { text } = upstreams
    text?.answer(serve)
    const sent = async (path: string, body: object): Promise<object | undefined> => {
      const answer = await post(path, body)
      t.equal(answer.status, 200, await answer.text())
      return text?.received.at(-1)?.json()
    }
    const messages = [{ role: 'user', content: 'hi' }]
    t.same(await sent('/v1/chat/completions', { model: 'low', messages }), {
      model: 'low',
      messages,
      reasoning_effort: 'low',
      temperature: 0.2,
      max_tokens: 100,
      top_p: 0.5,
    })
    t.match(await sent('/v1/chat/completions', { model: 'low', messages, temperature: 0, max_tokens: 7 }), {
      reasoning_effort: 'low',
      temperature: 0,
      max_tokens: 7,
    })
    t.same(await sent('/v1/responses', { model: 'low', input: 'hi' }), {
      model: 'low',
      input: 'hi',
      temperature: 1,
      top_p: 0.5,
    })
    t.same(await sent('/v1/chat/completions', { model: 'plain', messages }), {
      model: 'plain',
      messages,
      temperature: 1,
      top_p: 0.5,
    })
    const { key } = await newKey({ budget: 50_000 })
    const statusOf = async (body: object): Promise<number> => {
      const request = { model: 'low', messages, ...body }
      const answer = await post('/v1/chat/completions', request, { authorization: `Bearer ${key}` })
      await answer.text()
      return answer.status
    }
    t.equal(await statusOf({}), 402, 'the 100 tokens of the default are reserved')
    t.equal(await statusOf({ max_tokens: 7 }), 200)
  },
)

t.test('check reports a default of an unknown operation, and notes one that is not forwarded', async t => {
  const findings = async (defaults: string): Promise<unknown> => {
    const text = config(`  low: { family: chat, upstream: text, ${prices}, defaults: ${defaults} }`)
    const env = {
      TOLLGATE_LISTEN: '127.0.0.1:0',
      TOLLGATE_OPS: 'off',
      TOLLGATE_STORAGE: 'sqlite::memory:',
      TEXT_URL: 'http://a',
    }
    const loaded = await loadConfig({ file: 'gateway.yaml', text }, env)
    return (loaded.ok ? loaded.notes : loaded.findings).map(({ code, path }) => `${code} ${path}`)
  }
  t.same(await findings('{ chta: { max_tokens: 1 } }'), ['operation_unknown models.low.defaults.chta'])
  t.same(await findings('{ chat: { user: me, max_tokens: 1 } }'), ['default_unforwarded models.low.defaults.chat.user'])
  t.same(await findings('{ chat: { max_tokens: 1 } }'), [])
})
