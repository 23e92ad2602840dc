import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../harness/database.ts'
import { start } from '../harness/start.ts'

const config = `
version: 1
currency: USD
server: { listen: "\${TOLLGATE_LISTEN}", ops: "\${TOLLGATE_OPS}" }
storage: "\${TOLLGATE_STORAGE}"
counters: "memory:"
groups: { default: { rpm: 6000 } }
upstreams: { text: { url: "\${TEXT_URL}" } }
pipeline: [auth, ratelimit, answer-cache, size-normalize, image-tier-billing, token-usage]
families:
  chat: { streams: [chat], forward: { chat: { all: true } }, token-usage: {} }
  strict: { streams: [chat], forward: { chat: { all: true, except: [temperature] } }, token-usage: {} }
models:
  "open/*": { family: chat, upstream: text, cache: { for: 1h }, prices: { input: "1", output: "1" } }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
`
const usage = { prompt_tokens: 100, completion_tokens: 100 }

t.test('names of one wildcard share no response, and a change of the wildcard drops them', async t => {
  const started = await start(t, { yaml: config, upstreams: ['text'] })
  let calls = 0
  started.upstream.answer(res => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ id: `answer-${++calls}`, choices: [{ message: { content: 'hi' } }], usage }))
  })
  const says = async (model: string) => {
    const messages = [{ role: 'user', content: 'hi' }]
    const answer = await started.post('/v1/chat/completions', { model, messages, temperature: 1 })
    const { id } = (await answer.json()) as { id: string }
    await started.settled()
    return `${answer.headers.get('x-tollgate-cache')} ${id}`
  }
  t.equal(await says('open/a'), 'miss answer-1')
  t.equal(await says('open/a'), 'hit answer-1')
  t.equal(await says('open/b'), 'miss answer-2')
  t.match(await started.reload([['family: chat, upstream', 'family: strict, upstream']]), { ok: true })
  t.equal(await says('open/a'), 'miss answer-3', 'the other family forwards other fields')
})

t.test('gateways in other processes notice every change of a key', async t => {
  const { folder, gateway, keyId } = await start(t, { yaml: config, upstreams: ['text'] })
  const { keys } = gateway.storage
  const elsewhere = await openDatabase({ url: `sqlite:${join(folder, 'tollgate.db')}`, role: 'tool' })
  for (const change of [
    { cache: 'off' },
    { tags: ['team:blue'] },
    { limits: { rpm: 7 } },
    { budgetSoft: true },
  ] as const) {
    const before = await keys.revision()
    await elsewhere.keys.change(keyId, change, 'root')
    t.not(await keys.revision(), before, JSON.stringify(change))
  }
  await elsewhere.close()
})
