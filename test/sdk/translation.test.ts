import Anthropic from '@anthropic-ai/sdk'
import { type GenerateContentResponse, GoogleGenAI, type Part } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { start } from '../harness/start.ts'
import { translatedEdits, translatedModels } from '../harness/translated-models.ts'
import { type Format, formats } from '../harness/translating.ts'
import { answerAsVendor } from '../harness/vendor-answers.ts'

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

/** One tool loop with an image and structured output, through the official SDK of a format. */
const clients: { readonly [format in Format]: (ask: Ask) => Promise<Loop> } = {
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
  'the official SDKs complete a tool loop in every direction, streamed and not, and the bills are exact',
  async t => {
    const started = await start(t, { upstreams: ['text'], edit: translatedEdits })
    const upstream = started.upstreams['text']
    upstream?.answer(answerAsVendor)
    let loops = 0
    for (const to of formats) {
      for (const from of formats.filter(one => one !== to)) {
        for (const stream of [false, true]) {
          const name = `${from} → ${to}, ${stream ? 'streamed' : 'whole'}`
          const ask: Ask = { url: started.url, key: started.key, model: translatedModels[to], stream }
          const loop = await clients[from](ask).catch((error: unknown) => error)
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
    for (const { id, lines } of charges) {
      const of = (tier: string): number => lines.find(line => line.tier === tier)?.quantity ?? 0
      const counted = [of('input'), of('cached_input'), of('output') + of('reasoning')]
      t.same(counted, [20, 10, 12], id)
    }
  },
)
