// The Vercel AI SDK with four of its vendors' packages.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  embed,
  embedMany,
  experimental_generateSpeech as generateSpeech,
  experimental_transcribe as transcribe,
  generateImage,
  generateObject,
  generateText,
  Output,
  stepCountIs,
  streamObject,
  streamText,
  tool,
} from 'ai'
import { z } from 'zod'
import { caller, caught, collect, key, mask, picture, said, same, sound, spentKey, truthy, url } from './kit.js'

const prompt = 'a red boat'
const recipe = z.object({
  name: z.string(),
  kind: z.enum(['soup', 'cake']),
  minutes: z.number().int(),
  steps: z.array(z.object({ text: z.string(), hot: z.boolean() })),
  note: z.string().nullable(),
})
const ranges = z.object({ minutes: z.number().int().min(5), steps: z.array(z.string()).min(2) })
const tools = {
  look_up: tool({
    description: 'the weather of a city',
    inputSchema: z.object({ city: z.string(), days: z.number().int() }),
    execute: async ({ city }) => `rain in ${city}`,
  }),
}

/** The calls for every model of text, whatever its API format. */
async function callText(call, name, model, sayUsage = true) {
  await call(`${name}: generateText`, async () => {
    const { text, usage, finishReason } = await generateText({ model, prompt, maxRetries: 0 })
    same(text, said)
    same([usage.inputTokens, usage.outputTokens, finishReason], [3, 6, 'stop'])
  })
  await call(`${name}: streamText`, async () => {
    const answer = streamText({ model, prompt, maxRetries: 0, onError: () => undefined })
    same((await collect(answer.textStream)).join(''), said)
    if (sayUsage) same((await answer.usage).outputTokens, 6)
  })
  await call(`${name}: generateObject`, async () => {
    const { object } = await generateObject({ model, schema: recipe, prompt, maxRetries: 0 })
    recipe.parse(object)
  })
  await call(`${name}: generateObject within ranges`, async () => {
    const { object } = await generateObject({ model, schema: ranges, prompt, maxRetries: 0 })
    ranges.parse(object)
  })
  await call(`${name}: streamObject`, async () => {
    const answer = streamObject({ model, schema: recipe, prompt, maxRetries: 0, onError: () => undefined })
    await collect(answer.partialObjectStream)
    recipe.parse(await answer.object)
  })
  await call(`${name}: generateText with Output.object`, async () => {
    const { output } = await generateText({ model, prompt, output: Output.object({ schema: recipe }), maxRetries: 0 })
    recipe.parse(output)
  })
  await call(`${name}: a tool, and its result`, async () => {
    const ask = { model, tools, prompt: 'look_up Rome', stopWhen: stepCountIs(2), maxRetries: 0 }
    const { steps, text } = await generateText(ask)
    same(steps[0].toolCalls[0].toolName, 'look_up')
    truthy(text.includes('rain in'), 'the last step tells the result')
  })
  await call(`${name}: a tool, streamed`, async () => {
    const answer = streamText({ model, tools, prompt: 'look_up Rome', maxRetries: 0, onError: () => undefined })
    await answer.consumeStream()
    same((await answer.toolCalls)[0].toolName, 'look_up')
  })
  await call(`${name}: a tool that has to be called`, async () => {
    const { toolCalls } = await generateText({ model, tools, toolChoice: 'required', prompt, maxRetries: 0 })
    same(toolCalls[0].toolName, 'look_up')
  })
}

async function callErrors(call, name, { connect, model }) {
  const failing = async (call, status) => {
    const error = await caught(call)
    truthy(APICallError.isInstance(error), `${error?.name} is an APICallError`)
    same(error.statusCode, status)
    return error
  }
  await call(`${name}: 401`, () => failing(() => ask(connect('sk-none'), model), 401))
  await call(`${name}: 404 of a model`, () => failing(() => ask(connect(key), 'none'), 404))
  await call(`${name}: 429 with Retry-After`, async () => {
    const { responseHeaders, isRetryable } = await failing(() => ask(connect(spentKey), model), 429)
    truthy(Number(responseHeaders['retry-after']) >= 1, 'Retry-After is told')
    same(isRetryable, true)
  })
  await call(`${name}: 400 and its message`, async () => {
    const error = await failing(() => ask(connect(key), model, 'a boat [[status 400]]'), 400)
    truthy(error.message.includes('refuses with 400'), 'the message is read out of the body')
  })
}

function ask(create, model, text = prompt) {
  return generateText({ model: create(model), prompt: text, maxRetries: 0 })
}

async function callImages(call, name, image) {
  for (const model of ['alpha-image-2', 'beta-imagine-image']) {
    await call(`${name}: generateImage, ${model}`, async () => {
      const { images } = await generateImage({ model: image(model), prompt, n: 2, size: '1024x1024', maxRetries: 0 })
      same(images.length, 2)
      truthy(images[0].mediaType.startsWith('image/'), 'an image')
    })
    await call(`${name}: generateImage of an image, ${model}`, async () => {
      const { images } = await generateImage({
        model: image(model),
        prompt: { text: prompt, images: [picture] },
        maxRetries: 0,
      })
      truthy(images[0].uint8Array.length > 1000, 'an image')
    })
  }
  await call(`${name}: generateImage of two images and a mask, alpha-image-2`, async () => {
    const { images } = await generateImage({
      model: image('alpha-image-2'),
      prompt: { text: prompt, images: [picture, picture], mask },
      maxRetries: 0,
    })
    same(images.length, 1)
  })
}

async function callVectors(call, name, model) {
  await call(`${name}: embed`, async () => {
    const { embedding } = await embed({ model, value: prompt, maxRetries: 0 })
    truthy(embedding.length > 10, 'a vector')
  })
  await call(`${name}: embedMany`, async () => {
    const { embeddings } = await embedMany({ model, values: [prompt, 'winter'], maxRetries: 0 })
    same(embeddings.length, 2)
  })
}

{
  const call = caller('@ai-sdk/openai')
  const connect = apiKey => createOpenAI({ baseURL: `${url}/v1`, apiKey })
  const client = connect(key)
  await callText(call, 'chat', client.chat('sim-chat'))
  await callText(call, 'responses', client.responses('sim-chat'))
  await callErrors(call, 'chat', { connect: apiKey => connect(apiKey).chat, model: 'sim-chat' })
  await callErrors(call, 'responses', { connect: apiKey => connect(apiKey).responses, model: 'sim-chat' })
  await callVectors(call, 'embeddings', client.embedding('sim-embedding'))
  await callImages(call, 'images', client.image)
  await call('images: quality and output_format, alpha-image-2', async () => {
    const providerOptions = { openai: { quality: 'high', outputFormat: 'webp', background: 'opaque' } }
    const { images } = await generateImage({ model: client.image('alpha-image-2'), prompt, providerOptions })
    same(images[0].mediaType, 'image/webp')
  })
  await call('speech', async () => {
    const { audio } = await generateSpeech({ model: client.speech('sim-speech'), text: prompt, maxRetries: 0 })
    truthy(audio.uint8Array.length > 100, 'sound')
  })
  await call('transcription', async () => {
    const { text } = await transcribe({ model: client.transcription('sim-transcription'), audio: sound, maxRetries: 0 })
    truthy(text.startsWith('simulated transcript'), 'a transcript')
  })
}

{
  const call = caller('@ai-sdk/openai-compatible')
  const connect = apiKey =>
    createOpenAICompatible({
      name: 'gateway',
      baseURL: `${url}/v1`,
      apiKey,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })
  const client = connect(key)
  await callText(call, 'chat', client.chatModel('sim-chat'))
  await callErrors(call, 'chat', { connect: apiKey => connect(apiKey).chatModel, model: 'sim-chat' })
  await call('chat: generateObject without a schema on the wire', async () => {
    const plain = createOpenAICompatible({ name: 'gateway', baseURL: `${url}/v1`, apiKey: key })
    const { object } = await generateObject({
      model: plain.chatModel('sim-chat'),
      output: 'no-schema',
      prompt,
      maxRetries: 0,
    })
    truthy(typeof object === 'object', 'an object')
  })
  await callVectors(call, 'embeddings', client.embeddingModel('sim-embedding'))
  await callImages(call, 'images', client.imageModel)
}

{
  const call = caller('@ai-sdk/anthropic')
  const connect = apiKey => createAnthropic({ baseURL: `${url}/v1`, apiKey })
  await callText(call, 'messages', connect(key)('sim-messages'))
  await callErrors(call, 'messages', { connect, model: 'sim-messages' })
}

{
  const call = caller('@ai-sdk/google')
  const connect = apiKey => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })
  await callText(call, 'generateContent', connect(key)('sim-generative'))
  await callErrors(call, 'generateContent', { connect, model: 'sim-generative' })
  await callVectors(call, 'embeddings', connect(key).embedding('sim-generative'))
}
