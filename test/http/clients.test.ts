import t from 'tap'
import { start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

// Tests the parts of the gateway's own answers that clients in other languages need; `npm run test:clients` runs the
// clients.

t.test("[6.8] a model in the Anthropic format has every member that its SDKs' types require", async t => {
  const { get } = await start(t, { simulated: true })
  const answer = await get('/v1/models', { 'anthropic-version': '2023-06-01' })
  const { data } = (await answer.json()) as { data: readonly object[] }
  t.ok(data.length > 0)
  for (const model of data)
    t.match(
      model,
      { type: 'model', id: String, display_name: String, created_at: String, lifecycle: 'active' },
      caseName({ model }),
    )
})

t.test('[6.8] an invalid key is refused with the text by which LiteLLM distinguishes 401 from 400', async t => {
  const { url } = await start(t, { simulated: true })
  const answer = await fetch(`${url}/v1/models`, { headers: { authorization: 'Bearer sk-none' } })
  t.equal(answer.status, 401)
  t.match(await answer.json(), {
    error: { type: 'invalid_request_error', code: 'invalid_api_key', message: /^Incorrect API key provided/ },
  })
})
