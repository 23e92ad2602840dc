import t from 'tap'
import { start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

type Api = { readonly paths: { readonly [path: string]: { readonly post?: object } } }

const verdict = { id: 'modr-1', model: 'm', results: [{ flagged: true, categories: { violence: true } }] }

t.test('a moderation passes unchanged, under every spelling of its path', async t => {
  const { post, upstreams } = await start(t)
  upstreams['text']?.answer(verdict)
  const body = { model: 'sim-moderation', input: ['a boat', { type: 'text', text: 'violence' }], extra: { kept: 1 } }
  for (const path of ['/v1/moderations', '/v1/v1/moderations', '/moderations']) {
    const answer = await post(path, body)
    t.equal(answer.status, 200, path)
    t.same(await answer.json(), verdict, caseName({ path }))
    t.match(upstreams['text']?.received.at(-1), { method: 'POST', url: '/v1/moderations' }, caseName({ path }))
    t.same(JSON.parse(String(upstreams['text']?.received.at(-1)?.body)), body, caseName({ path }))
  }
})

t.test('a moderation is free and uses no tokens, although its family is charged for chats', async t => {
  const { post, upstreams, newKey, url, logs, charges } = await start(t, {
    edit: [
      [/forward: \{ chat: /, 'forward: { moderations: { all: true }, chat: '],
      ['tpm: 500000', 'tpm: 3000'],
    ],
  })
  upstreams['text']?.answer({ ...verdict, usage: { prompt_tokens: 900_000, completion_tokens: 900_000 } })
  const { key } = await newKey({ budget: 1 })
  for (const model of ['sim-chat', 'sim-moderation']) {
    const body = JSON.stringify({ model, input: 'violence '.repeat(4000) })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/moderations`, { method: 'POST', headers, body })
    t.equal(answer.status, 200, `${model}: a budget of a millionth and a limit of 3000 tokens do not stop it`)
  }
  t.same(await charges(), [])
  t.match(await logs(), [
    { operation: 'moderations', model: 'sim-moderation', status: 200, billing: null },
    { operation: 'moderations', model: 'sim-chat', status: 200, billing: null },
  ])
  const refused = await post('/v1/chat/completions', { model: 'sim-moderation', messages: [] })
  t.equal(refused.status, 400, 'its own model serves nothing else')
})

t.test('the simulator flags the categories that an input names', async t => {
  const { openai } = await start(t, { simulated: true })
  const { results } = await openai.moderations.create({ model: 'sim-moderation', input: ['a boat', 'Violence!'] })
  t.match(results, [
    { flagged: false, categories: { violence: false } },
    { flagged: true, categories: { violence: true, hate: false } },
  ])
})

t.test('the API reference describes moderations, in both languages', async t => {
  const { url } = await start(t, { simulated: true })
  for (const [language, summary] of [
    ['en', 'Find harmful content in texts and images'],
    ['zh', '检查文本和图片中的有害内容'],
  ]) {
    const { paths } = (await (await fetch(`${url}/openapi.json?lang=${language}`)).json()) as Api
    t.match(
      paths['/v1/moderations']?.post,
      { summary, 'x-models': ['sim-moderation'] },
      caseName({ language, summary }),
    )
    t.match(await (await fetch(`${url}/docs?lang=${language}`)).text(), summary, caseName({ language, summary }))
  }
})
