import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'

/** A key with characters that JSON and URLs write in another form. */
const secret = 'sk-live/9f8e7d6c5b4a+Quoted=='
const ask = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }
const delta = { id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'H' } }] }
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const forms = {
  plain: secret,
  slashes: secret.replaceAll('/', String.raw`\/`),
  unicode: secret.replaceAll('=', String.raw`\u003d`).replaceAll('+', String.raw`\u002B`),
  percent: encodeURIComponent(secret),
}
const starred = (form: string): string => '*'.repeat(form.length)

t.test('our key is removed from an error within or at the end of a stream, however it is split', async t => {
  const { post, upstreams } = await start(t, { env: { TEXT_API_KEY: secret } })
  for (const [name, form] of Object.entries(forms)) {
    const tell = (quoted: string): string =>
      `${data(delta)}data: {"error":{"message":"the key ${quoted} is refused","code":401}}\n\n${data(delta)}event: error\ndata: ${quoted}`
    const text = tell(form)
    const first = text.indexOf(form)
    for (const cut of [0, first + 1, first + 10, first + form.length - 1, text.length - 3]) {
      const at = caseName({ name, cut })
      upstreams['text']?.answer(res => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write(text.slice(0, cut), () => res.end(text.slice(cut)))
      })
      const answer = await post('/v1/chat/completions', { ...ask, stream: true })
      t.equal(answer.status, 200, at)
      t.ok((await answer.text()).startsWith(tell(starred(form))), at)
    }
  }
})

t.test('our key is removed from the headers and the JSON of an accepted answer', async t => {
  const { post, upstreams } = await start(t, { env: { TEXT_API_KEY: secret } })
  const upstream = upstreams['text'] as Upstream
  for (const [name, form] of Object.entries(forms)) {
    const tell = (quoted: string): string =>
      `{"id":"c1","object":"chat.completion","model":"${quoted}","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
    upstream.answer(res => {
      const headers = {
        'content-type': 'application/json',
        'openai-version': form,
        'content-length': tell(form).length,
      }
      res.writeHead(200, headers).end(tell(form))
    })
    const answer = await post('/v1/chat/completions', ask)
    t.equal(answer.status, 200, caseName({ name }))
    t.equal(answer.headers.get('openai-version'), starred(form), caseName({ name }))
    t.equal(await answer.text(), tell(starred(form)), caseName({ name }))
  }
})

t.test('a credential that may be a word is kept in answers, and removed from errors', async t => {
  const { post, upstreams } = await start(t, { env: { TEXT_API_KEY: 'sk-no-key-required' } })
  const reply = {
    id: 'c1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { content: 'sk-no-key-required' } }],
  }
  const upstream = upstreams['text'] as Upstream
  upstream.answer(res => void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply)))
  t.match(await (await post('/v1/chat/completions', ask)).text(), 'sk-no-key-required')
  upstream.answer(res => void res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(reply)))
  t.notMatch(await (await post('/v1/chat/completions', ask)).text(), 'sk-no-key-required')
})
