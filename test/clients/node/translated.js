// Tool loops of the AI SDK and of LangChain with models whose upstreams have another API format.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, SystemMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { caller, collect, key, same, url } from './kit.js'

const picture = 'iVBORw0KGgo='
const city = z.object({ city: z.string() })
const shape = z.object({ warm: z.boolean() })
const wanted = [
  { name: 'look', input: { city: 'Paris' } },
  { name: 'look', input: { city: 'Rome' } },
]
const models = {
  chat: 'sim-chat',
  responses: 'sim-responses',
  messages: 'sim-messages',
  generate: 'sim-generative',
}

const openai = createOpenAI({ apiKey: key, baseURL: `${url}/v1` })
const anthropic = createAnthropic({ apiKey: key, baseURL: `${url}/v1` })
const google = createGoogleGenerativeAI({ apiKey: key, baseURL: `${url}/v1beta` })

/** The package of each format, its model, and its options. */
const aiSdk = {
  chat: ['@ai-sdk/openai', name => openai.chat(name), {}],
  // By default it refers to items stored by its vendor.
  responses: ['@ai-sdk/openai', name => openai.responses(name), { openai: { store: false } }],
  // For unknown models it would replace the schema with a tool.
  messages: ['@ai-sdk/anthropic', name => anthropic(name), { anthropic: { structuredOutputMode: 'outputFormat' } }],
  generate: ['@ai-sdk/google', name => google(name), {}],
}

async function loopOfAiSdk(model, providerOptions, isStream) {
  const request = {
    model,
    providerOptions,
    maxRetries: 0,
    maxOutputTokens: 900,
    system: 'Be brief.',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Is it warm there?' },
          { type: 'image', image: picture, mediaType: 'image/png' },
        ],
      },
    ],
    tools: { look: tool({ inputSchema: city, execute: async () => 'warm' }) },
    output: Output.object({ schema: shape }),
    stopWhen: stepCountIs(3),
  }
  let failure
  const stream = isStream ? streamText({ ...request, onError: ({ error }) => (failure = error) }) : undefined
  if (stream) await collect(stream.fullStream)
  if (failure) throw failure
  const answer = stream ?? (await generateText(request))
  const steps = await answer.steps
  same(
    steps.flatMap(({ toolCalls }) => toolCalls).map(({ toolName, input }) => ({ name: toolName, input })),
    wanted,
  )
  same(await answer.output, { warm: true })
  const { usage } = steps.at(-1)
  same([usage.inputTokens, usage.outputTokens], [30, 12])
}

const more = { apiKey: key, maxRetries: 0 }
const langchain = {
  chat: ['@langchain/openai', model => new ChatOpenAI({ ...more, model, configuration: { baseURL: `${url}/v1` } })],
  responses: [
    '@langchain/openai',
    model =>
      new ChatOpenAI({
        ...more,
        model,
        useResponsesApi: true,
        zdrEnabled: true,
        configuration: { baseURL: `${url}/v1` },
      }),
  ],
  messages: ['@langchain/anthropic', model => new ChatAnthropic({ ...more, model, anthropicApiUrl: url })],
  generate: ['@langchain/google-genai', model => new ChatGoogleGenerativeAI({ ...more, model, baseUrl: url })],
}

async function loopOfLangchain(model, isStream, [input, output]) {
  const look = langchainTool(async () => 'warm', { name: 'look', description: 'The weather.', schema: city })
  const bound = model.bindTools([look])
  const ask = async messages => {
    if (!isStream) return bound.invoke(messages)
    const chunks = await collect(await bound.stream(messages))
    return chunks.reduce((sum, chunk) => sum.concat(chunk))
  }
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }
  const messages = [
    new SystemMessage('Be brief.'),
    new HumanMessage({ content: [{ type: 'text', text: 'Is it warm there?' }, image] }),
  ]
  const first = await ask(messages)
  same(
    first.tool_calls.map(({ name, args }) => ({ name, input: args })),
    wanted,
  )
  messages.push(first)
  for (const call of first.tool_calls) messages.push(await look.invoke(call))
  const second = await ask(messages)
  same(second.text, '{"warm":true}')
  const { input_tokens, output_tokens } = second.usage_metadata
  same([input_tokens, output_tokens], [input ?? input_tokens, output])
  same(await model.withStructuredOutput(shape, { method: 'jsonSchema', name: 'warm' }).invoke(messages), { warm: true })
}

for (const from of Object.keys(models))
  for (const to of Object.keys(models).filter(one => one !== from))
    for (const isStream of [false, true]) {
      const name = `${from} → ${to}, ${isStream ? 'streamed' : 'whole'}`
      const [provider, modelOf, options] = aiSdk[from]
      await caller(provider)(name, () => loopOfAiSdk(modelOf(models[to]), options, isStream))
      const [own, connect] = langchain[from]
      // It sends images only to models with known names.
      const model = from === 'generate' ? `gemini-2.5-on-${to}` : models[to]
      // It reads the input tokens from the first event, but most upstreams report them in the last one: this is an
      // estimate.
      const input = from === 'messages' && isStream && to !== 'generate' ? undefined : 30
      // It drops thoughts.
      const output = from === 'generate' && to !== 'messages' ? 8 : 12
      await caller(own)(name, () => loopOfLangchain(connect(model), isStream, [input, output]))
    }
