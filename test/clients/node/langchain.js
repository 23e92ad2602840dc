// LangChain for JavaScript: models of chat, structured answers, tools, embeddings.
import { ChatAnthropic } from '@langchain/anthropic'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, DallEAPIWrapper, OpenAIEmbeddings } from '@langchain/openai'
import { z } from 'zod'
import { caller, caught, collect, key, said, same, spentKey, truthy, url } from './kit.js'

const prompt = 'a red boat'
const recipe = z.object({ name: z.string(), steps: z.array(z.object({ text: z.string(), hot: z.boolean() })) })
const choice = z.object({ kind: z.enum(['soup', 'cake']) })
const lookUp = tool(async ({ city }) => `rain in ${city}`, {
  name: 'look_up',
  description: 'the weather of a city',
  schema: z.object({ city: z.string() }),
})

async function callChat(call, name, model, methods) {
  await call(`${name}: invoke`, async () => {
    const answer = await model.invoke(prompt)
    same(answer.text, said)
    same(answer.usage_metadata.output_tokens, 6)
  })
  await call(`${name}: stream`, async () => {
    const chunks = await collect(await model.stream(prompt))
    same(chunks.map(({ text }) => text).join(''), said)
    truthy(
      chunks.some(chunk => chunk.usage_metadata?.output_tokens === 6),
      'the usage comes in a chunk',
    )
  })
  await call(`${name}: batch`, async () => same((await model.batch([prompt, prompt])).length, 2))
  await call(`${name}: bindTools`, async () => {
    const { tool_calls: calls } = await model.bindTools([lookUp]).invoke('look_up Rome')
    same(calls[0].name, 'look_up')
    same(await lookUp.invoke(calls[0].args), `rain in ${calls[0].args.city}`)
  })
  for (const method of methods) {
    await call(`${name}: withStructuredOutput, ${method}`, async () => {
      recipe.parse(await model.withStructuredOutput(recipe, { method, name: 'recipe' }).invoke(prompt))
    })
    await call(`${name}: withStructuredOutput of a choice, ${method}`, async () => {
      choice.parse(await model.withStructuredOutput(choice, { method, name: 'choice' }).invoke(prompt))
    })
  }
}

{
  const call = caller('@langchain/openai')
  const connect = (apiKey, model, more = {}) =>
    new ChatOpenAI({ apiKey, model, maxRetries: 0, configuration: { baseURL: `${url}/v1` }, ...more })
  await callChat(call, 'chat', connect(key, 'sim-chat'), ['jsonSchema', 'functionCalling'])
  await callChat(call, 'responses', connect(key, 'sim-chat', { useResponsesApi: true }), ['jsonSchema'])
  await call('chat: response_format json_object', async () => {
    const model = connect(key, 'sim-chat').withConfig({ response_format: { type: 'json_object' } })
    JSON.parse((await model.invoke(prompt)).text)
  })
  for (const [status, apiKey, model, code] of [
    [401, 'sk-none', 'sim-chat', 'MODEL_AUTHENTICATION'],
    [404, key, 'none', 'MODEL_NOT_FOUND'],
    [429, spentKey, 'sim-chat', 'MODEL_RATE_LIMIT'],
  ])
    await call(`chat: ${status}`, async () => {
      const error = await caught(() => connect(apiKey, model).invoke(prompt))
      same([error.status, error.lc_error_code], [status, code])
    })
  const embeddings = new OpenAIEmbeddings({
    apiKey: key,
    model: 'sim-embedding',
    maxRetries: 0,
    configuration: { baseURL: `${url}/v1` },
  })
  await call('embeddings: embedQuery', async () =>
    truthy((await embeddings.embedQuery(prompt)).length > 10, 'a vector'),
  )
  await call('embeddings: embedDocuments', async () =>
    same((await embeddings.embedDocuments([prompt, 'winter'])).length, 2),
  )
  for (const [model, dallEResponseFormat] of [
    ['alpha-image-2', 'b64_json'],
    ['alpha-image-2', 'url'],
    ['beta-imagine-image', 'url'],
    ['beta-imagine-image', 'b64_json'],
  ])
    await call(`images: DallEAPIWrapper, ${model}, ${dallEResponseFormat}`, async () => {
      const images = new DallEAPIWrapper({
        apiKey: key,
        model,
        dallEResponseFormat,
        quality: 'standard',
        size: '1024x1024',
        maxRetries: 0,
        baseUrl: `${url}/v1`,
      })
      truthy((await images.invoke(prompt)).length > 20, 'an image')
    })
}

{
  const call = caller('@langchain/anthropic')
  const connect = (apiKey, model) =>
    new ChatAnthropic({ apiKey, model, maxTokens: 4096, maxRetries: 0, anthropicApiUrl: url })
  await callChat(call, 'messages', connect(key, 'sim-messages'), ['functionCalling', 'jsonSchema'])
  for (const [status, apiKey, model] of [
    [401, 'sk-none', 'sim-messages'],
    [404, key, 'none'],
    [429, spentKey, 'sim-messages'],
  ])
    await call(`messages: ${status}`, async () =>
      same((await caught(() => connect(apiKey, model).invoke(prompt))).status, status),
    )
}
