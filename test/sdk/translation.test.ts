import type { ServerResponse } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import { type GenerateContentResponse, GoogleGenAI, type Part } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { adapterOf } from '../../plugins/format-bridge/formats.ts'
import { type Adapter, type Answer, eventsOf, type WriteFacts } from '../../plugins/format-bridge/neutral/index.ts'
import { type Edits, start } from '../harness/start.ts'
import type { Received } from '../harness/upstream.ts'

/** Each model's upstream has one format, and it accepts the three others. */
const models: { readonly [format: string]: string } = {
  chat: 'sim-chat',
  responses: 'sim-responses',
  messages: 'sim-messages',
  generate: 'sim-generative',
}
const formats = Object.keys(models)
const others = (format: string): string => formats.filter(one => one !== format).join(', ')
const edits: Edits = [
  [
    '\n  chat:\n',
    '\n  only-responses:\n    streams: [responses]\n    forward: { responses: { all: true } }\n    token-usage: { unpriced: refuse }\n  chat:\n',
  ],
  // The model of chat completions has no responses here.
  ['streams: [chat, completions, responses, responses.get]', 'streams: [chat, completions]'],
  [
    'completions: { all: true }, responses: { all: true }, responses.get: { all: true }, ',
    'completions: { all: true }, responses.get: { all: true }, ',
  ],
  [
    '  sim-chat: { family: chat,',
    `  sim-responses: { family: only-responses, upstream: text, accepts: [${others('responses')}], prices: { input: "1.00", cached_input: "0.10", output: "2.00" } }\n  sim-chat: { family: chat, accepts: [${others('chat')}],`,
  ],
  ['sim-messages: { family: messages,', `sim-messages: { family: messages, accepts: [${others('messages')}],`],
  ['sim-generative: { family: generative,', `sim-generative: { family: generative, accepts: [${others('generate')}],`],
]

const usage = { input: 30, output: 12, cacheRead: 10 }
const call: Answer = {
  parts: [
    { kind: 'text', text: '{"warm":false}' },
    { kind: 'call', id: 'call_1', name: 'look', arguments: '{"city":"Paris"}' },
    { kind: 'call', id: 'call_2', name: 'look', arguments: '{"city":"Rome"}' },
  ],
  stop: { why: 'calls' },
  usage,
}
const final: Answer = { parts: [{ kind: 'text', text: '{"warm":true}' }], stop: { why: 'end' }, usage }

const facts: WriteFacts = {
  id: 'up1',
  created: 1,
  model: 'vendor-model',
  request: { turns: [], tools: [], sampling: {}, stream: true, streamUsage: true, losses: [] },
  inputEstimate: 1,
  form: 'events',
}

/** An upstream of a format: it calls tools first, and answers once it has their results. */
function vendor(adapter: Adapter) {
  return (res: ServerResponse, received: Received) => {
    const isStream = received.url.includes('streamGenerate') || received.json()['stream'] === true
    const hasResults = /"(?:tool|tool_result|function_call_output|functionResponse)"/.test(received.body.toString())
    const answer = hasResults ? final : call
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    if (!isStream) {
      res.end(JSON.stringify(adapter.writeAnswer(answer, facts)))
      return
    }
    const writer = adapter.createStreamWriter(facts)
    for (const event of eventsOf(answer)) res.write(writer.write(event))
    res.end()
  }
}

type Loop = {
  readonly calls: readonly string[]
  readonly text: string
  readonly input: number
  readonly output: number
}
type Ask = { readonly url: string; readonly key: string; readonly model: string; readonly stream: boolean }

const png = 'iVBORw0KGgo='
const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const shape = {
  type: 'object',
  properties: { warm: { type: 'boolean' } },
  required: ['warm'],
  additionalProperties: false,
}
const question = 'Is it warm there?'

/** One tool loop with an image and structured output, by the official SDK of a format. */
const clients: { readonly [format: string]: (ask: Ask) => Promise<Loop> } = {
  async chat({ url, key, model, stream }) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: question },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
        ],
      },
    ]
    const ask = async () => {
      const body = {
        model,
        messages,
        max_completion_tokens: 900,
        tools: [{ type: 'function' as const, function: { name: 'look', strict: true, parameters } }],
        response_format: { type: 'json_schema' as const, json_schema: { name: 'warm', strict: true, schema: shape } },
      }
      if (!stream) return client.chat.completions.create(body)
      return client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
    }
    const first = await ask()
    const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage
    const calls = (message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[]
    messages.push(message, ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'warm' })))
    const second = await ask()
    return {
      calls: calls.map(one => `${one.function.name} ${one.function.arguments}`),
      text: second.choices[0]?.message.content ?? '',
      input: second.usage?.prompt_tokens ?? 0,
      output: second.usage?.completion_tokens ?? 0,
    }
  },

  async responses({ url, key, model, stream }) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
    const input: OpenAI.Responses.ResponseInput = [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: question },
          { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${png}` },
        ],
      },
    ]
    const ask = async (): Promise<OpenAI.Responses.Response> => {
      const body = {
        model,
        input,
        instructions: 'Be brief.',
        store: false,
        max_output_tokens: 900,
        tools: [{ type: 'function' as const, name: 'look', strict: true, parameters }],
        text: { format: { type: 'json_schema' as const, name: 'warm', strict: true, schema: shape } },
      }
      if (!stream) return client.responses.create(body)
      return client.responses.stream(body).finalResponse()
    }
    const first = await ask()
    const calls = first.output.filter(item => item.type === 'function_call')
    input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]))
    input.push(...calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: 'warm' })))
    const second = await ask()
    return {
      calls: calls.map(one => `${one.name} ${one.arguments}`),
      text: second.output_text,
      input: second.usage?.input_tokens ?? 0,
      output: second.usage?.output_tokens ?? 0,
    }
  },

  async messages({ url, key, model, stream }) {
    const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
    const messages: Anthropic.MessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: question },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
        ],
      },
    ]
    const ask = async (): Promise<Anthropic.Message> => {
      const body = {
        model,
        messages,
        max_tokens: 900,
        system: [{ type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } }],
        tools: [{ name: 'look', input_schema: { ...parameters, type: 'object' as const } }],
        output_config: { format: { type: 'json_schema' as const, schema: shape } },
      }
      return stream ? client.messages.stream(body).finalMessage() : client.messages.create(body)
    }
    const first = await ask()
    const calls = first.content.filter(block => block.type === 'tool_use')
    messages.push(
      { role: 'assistant', content: first.content as Anthropic.ContentBlockParam[] },
      { role: 'user', content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'warm' })) },
    )
    const second = await ask()
    const { input_tokens, cache_read_input_tokens, output_tokens } = second.usage
    return {
      calls: calls.map(one => `${one.name} ${JSON.stringify(one.input)}`),
      text: second.content.map(block => (block.type === 'text' ? block.text : '')).join(''),
      input: input_tokens + (cache_read_input_tokens ?? 0),
      output: output_tokens,
    }
  },

  async generate({ url, key, model, stream }) {
    const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })
    const config = {
      systemInstruction: 'Be brief.',
      maxOutputTokens: 900,
      tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: parameters }] }],
      responseMimeType: 'application/json',
      responseJsonSchema: shape,
    }
    const chat = client.chats.create({ model, config })
    const send = async (message: Part[]): Promise<readonly GenerateContentResponse[]> => {
      if (!stream) return [await chat.sendMessage({ message })]
      const chunks: GenerateContentResponse[] = []
      for await (const chunk of await chat.sendMessageStream({ message })) chunks.push(chunk)
      return chunks
    }
    const first = await send([{ text: question }, { inlineData: { mimeType: 'image/png', data: png } }])
    const calls = first.flatMap(one => one.functionCalls ?? [])
    const second = await send(
      calls.map(({ id, name = '' }) => ({
        functionResponse: { ...(id !== undefined && { id }), name, response: { output: 'warm' } },
      })),
    )
    const counted = second.findLast(one => one.usageMetadata)?.usageMetadata
    return {
      calls: calls.map(one => `${one.name} ${JSON.stringify(one.args)}`),
      text: second.map(one => one.text ?? '').join(''),
      input: counted?.promptTokenCount ?? 0,
      output: (counted?.candidatesTokenCount ?? 0) + (counted?.thoughtsTokenCount ?? 0),
    }
  },
}

t.test(
  'the official SDKs complete a tool loop in every direction, streamed and whole, and the bill is exact',
  async t => {
    const started = await start(t, { upstreams: ['text'], edit: edits })
    const upstream = started.upstreams['text']
    let loops = 0
    for (const to of formats) {
      const adapter = adapterOf(to) as Adapter
      upstream?.answer(vendor(adapter))
      for (const from of formats.filter(one => one !== to)) {
        for (const stream of [false, true]) {
          const name = `${from} → ${to}, ${stream ? 'streamed' : 'whole'}`
          const model = models[to] as string
          const loop = await (clients[from] as (ask: Ask) => Promise<Loop>)({
            url: started.url,
            key: started.key,
            model,
            stream,
          }).catch((error: unknown) => error)
          t.match(
            loop,
            {
              calls: ['look {"city":"Paris"}', 'look {"city":"Rome"}'],
              text: '{"warm":true}',
              input: 30,
              output: 12,
            },
            `${name}: ${loop instanceof Error ? loop.message : ''}`,
          )
          const sent = upstream?.received.at(-1)?.body.toString() ?? ''
          t.ok(sent.includes(png), `${name}: the image`)
          t.ok(sent.includes('"warm"'), `${name}: the schema and the results`)
          loops++
        }
      }
    }
    const charges = await started.charges(100)
    t.equal(charges.length, loops * 2)
    for (const charge of charges)
      t.same(
        charge.lines.map(({ tier, quantity }) => `${tier}=${quantity}`),
        ['input=20', 'cached_input=10', 'output=12'],
        charge.id,
      )
  },
)
