import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import { chat } from '../../plugins/format-bridge/chat/index.ts'
import { generate } from '../../plugins/format-bridge/generate/index.ts'
import {
  type Answer,
  type AnswerEvent,
  answerOf,
  type Conversation,
  eventsOf,
  type JsonObject,
  packSeal,
  RequestFault,
  type StreamRecord,
  type UpstreamFacts,
  type WriteFacts,
} from '../../plugins/format-bridge/neutral/index.ts'

const to: UpstreamFacts = {
  model: 'up-model',
  issuer: 'up',
  maxTokens: 4096,
  reasoning: 'effort',
  efforts: ['low', 'high'],
  sampling: true,
  limitField: 'maxOutputTokens',
  links: true,
}
const facts = { issuer: 'up', id: 'x1' }
const parse = (body: JsonObject): Conversation => generate.parseRequest({ body, stream: false, issuer: 'up' })
/** The field that the parser's error names. */
function faultOf(body: JsonObject): string | undefined {
  try {
    parse(body)
    return undefined
  } catch (fault) {
    return fault instanceof RequestFault ? fault.field : String(fault)
  }
}

const lossesOf = ({ losses }: Conversation): readonly string[] => losses.map(one => `${one.feature} ${one.field}`)

/** A request with every feature that both formats have. */
const full = {
  systemInstruction: { parts: [{ text: 'Be brief.' }] },
  contents: [
    { role: 'user', parts: [{ text: 'Look.' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
    {
      role: 'model',
      parts: [
        { text: 'I look.', thought: true, thoughtSignature: 'c2Vh' },
        { text: 'Looking.' },
        { functionCall: { id: 'call_1', name: 'look', args: { at: 1 } }, thoughtSignature: 'c2Fi' },
        { functionCall: { id: 'call_2', name: 'look', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'call_1', name: 'look', response: { output: 'a tree' } } },
        { functionResponse: { id: 'call_2', name: 'look', response: { error: 'too dark' } } },
      ],
    },
    { role: 'user', parts: [{ fileData: { fileUri: 'https://example.com/a.pdf', mimeType: 'application/pdf' } }] },
  ],
  tools: [
    {
      functionDeclarations: [
        { name: 'look', description: 'Looks.', parametersJsonSchema: { type: 'object', properties: {} } },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } },
  generationConfig: {
    temperature: 0.5,
    topP: 0.9,
    topK: 3,
    presencePenalty: 0.1,
    frequencyPenalty: 0.2,
    seed: 7,
    maxOutputTokens: 100,
    stopSequences: ['END'],
    responseLogprobs: true,
    logprobs: 2,
    responseMimeType: 'application/json',
    responseJsonSchema: { type: 'object', properties: {} },
    thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true },
  },
  serviceTier: 'flex',
} satisfies JsonObject

t.test('a request in generate is unchanged by a round trip through the neutral form', async t => {
  const conversation = parse(full)
  t.same(lossesOf(conversation), [])
  const { body, losses } = generate.writeRequest(conversation, to)
  t.same(losses, [])
  t.same(body, full)
})

t.test('names in snake case and schemas of OpenAPI are read', async t => {
  const conversation = parse({
    system_instruction: { parts: [{ text: 'Be brief.' }] },
    contents: [{ parts: [{ inline_data: { mime_type: 'image/png', data: '-_-_' } }] }],
    tools: [
      {
        function_declarations: [
          {
            name: 'f',
            parameters: {
              type: 'OBJECT',
              properties: {
                my_name: { type: 'STRING', nullable: true, max_length: '3' },
                list: { type: 'ARRAY', items: { type: 'INTEGER' }, minItems: '1' },
              },
              required: ['my_name'],
            },
          },
        ],
      },
    ],
    generation_config: { max_output_tokens: 5, thinking_config: { thinking_budget: -1 } },
  })
  t.match(conversation, {
    turns: [
      { role: 'system', parts: [{ text: 'Be brief.' }] },
      { role: 'user', parts: [{ kind: 'media', media: 'image', source: { base64: '+/+/' } }] },
    ],
    maxTokens: 5,
    reasoning: { budget: 'auto' },
  })
  t.same(conversation.tools[0]?.schema, {
    type: 'object',
    properties: {
      my_name: { type: ['string', 'null'], maxLength: 3 },
      list: { type: 'array', items: { type: 'integer' }, minItems: 1 },
    },
    required: ['my_name'],
  })
})

t.test('calls without ids and their results become pairs', async t => {
  const call = (at: number): JsonObject => ({ functionCall: { name: 'look', args: { at } } })
  const result = (result: string): JsonObject => ({ functionResponse: { name: 'look', response: { result } } })
  const { turns } = parse({
    contents: [
      { role: 'model', parts: [call(1), call(2)] },
      { role: 'user', parts: [result('one'), result('two')] },
      { role: 'model', parts: [call(3)] },
      { role: 'user', parts: [result('three')] },
    ],
  })
  const ids = turns.map(turn => turn.parts.map(part => ('id' in part ? part.id : '')))
  t.same(ids[0], ids[1])
  t.same(ids[2], ids[3])
  t.equal(new Set([...(ids[0] ?? []), ...(ids[2] ?? [])]).size, 3)
})

t.test('fields that generate cannot carry are named', async t => {
  const conversation = parse({
    contents: [{ parts: [{ text: 'x' }, { executableCode: { code: '1' } }] }],
    cachedContent: 'cachedContents/1',
    safetySettings: [{ category: 'A' }],
    labels: { a: 'b' },
    tools: [{ googleSearch: {} }],
    generationConfig: { responseModalities: ['IMAGE'], mediaResolution: 'LOW', audioTimestamp: true },
  })
  t.same(lossesOf(conversation), [
    'web_search tools[0].googleSearch',
    'unknown_part contents[0].parts[1]',
    'cached_content cachedContent',
    'safety safetySettings',
    'metadata labels',
    'output_modality generationConfig.responseModalities',
    'detail generationConfig.mediaResolution',
    'unknown_field generationConfig.audioTimestamp',
  ])
  const written = generate.writeRequest(
    {
      turns: [
        { role: 'user', name: 'Ann', parts: [{ kind: 'text', text: 'x', cache: { ttl: '5m' } }] },
        { role: 'assistant', parts: [{ kind: 'call', id: 'a', name: 'f', arguments: '{"cut' }] },
      ],
      tools: [{ name: 'f', strict: true }],
      parallelCalls: false,
      sampling: { logitBias: { 1: 2 } },
      stop: ['1', '2', '3', '4', '5', '6'],
      verbosity: 'low',
      cacheKey: 'k',
      user: 'u',
      stream: false,
      streamUsage: false,
      losses: [],
    },
    to,
  )
  t.same(written.losses.map(({ feature }) => feature).toSorted(), [
    ...'cache_hint cache_key call_arguments logit_bias parallel_calls prefill speaker_name stop'.split(' '),
    ...'strict user verbosity'.split(' '),
  ])
})

t.test('a single object in place of a list is read as the vendor reads it', async t => {
  const parts = { text: 'Be brief.' }
  const declared = { name: 'look', parametersJsonSchema: { type: 'object' } }
  const read = parse({
    system_instruction: { parts },
    contents: { role: 'user', parts: { text: 'hi' } },
    tools: { function_declarations: declared },
    safety_settings: { category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' },
  })
  t.match(read, {
    turns: [
      { role: 'system', parts: [{ kind: 'text', text: 'Be brief.' }] },
      { role: 'user', parts: [{ kind: 'text', text: 'hi' }] },
    ],
    tools: [{ name: 'look' }],
    losses: [{ feature: 'safety' }],
  })
})

t.test('requests that cannot be read name the field', async t => {
  for (const [body, field] of [
    [{}, 'contents'],
    [{ contents: [{ role: 'robot', parts: [] }] }, 'contents[0].role'],
    [{ contents: [{ text: 'x' }] }, 'contents[0].parts'],
    [{ contents: [{ parts: ['x'] }] }, 'contents[0].parts[0]'],
    [{ contents: [{ parts: [{ functionCall: {} }] }] }, 'contents[0].parts[0].functionCall.name'],
    [{ contents: [{ parts: [{ functionResponse: {} }] }] }, 'contents[0].parts[0].functionResponse.name'],
  ] as const)
    t.equal(faultOf(body as unknown as JsonObject), field, JSON.stringify(body))
})

t.test("reasoning is converted to the model's own setting", async t => {
  const written = (reasoning: Conversation['reasoning'], facts: Partial<UpstreamFacts>): unknown => {
    const conversation = { ...parse({ contents: [] }), ...(reasoning && { reasoning }) }
    const { generationConfig } = generate.writeRequest(conversation, { ...to, ...facts }).body as {
      generationConfig?: { thinkingConfig?: unknown }
    }
    return generationConfig?.thinkingConfig
  }
  t.same(written({ effort: 'medium' }, {}), { thinkingLevel: 'LOW' })
  t.same(written({ budget: 100_000, show: 'auto' }, {}), { thinkingLevel: 'HIGH', includeThoughts: true })
  t.same(written({ effort: 'medium' }, { reasoning: 'budget' }), { thinkingBudget: 2048 })
  t.same(written({ budget: 'auto' }, { reasoning: 'budget' }), { thinkingBudget: -1 })
  t.same(written({ effort: 'none' }, { reasoning: 'budget' }), { thinkingBudget: 0 })
  t.same(written({ effort: 'none' }, { efforts: ['none', 'low'] }), { thinkingBudget: 0 })
  t.equal(written({ effort: 'high' }, { reasoning: 'none' }), undefined)
})

t.test('the signature of a call returns through a client of another format', async t => {
  const native = {
    candidates: [
      {
        content: { parts: [{ functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'c2ln' }] },
        finishReason: 'STOP',
      },
    ],
  }
  const answer = generate.parseAnswer(native, facts)
  const seen = chat.writeAnswer(answer, writeFacts) as unknown as { choices: { message: JsonObject }[] }
  const body = { messages: [{ role: 'user', content: 'x' }, seen.choices[0]?.message ?? {}] }
  const again = chat.parseRequest({ body, stream: false, issuer: 'client' })
  t.match(generate.writeRequest(again, to).body, {
    contents: [{}, { role: 'model', parts: [{ functionCall: { args: { a: 1 } }, thoughtSignature: 'c2ln' }] }],
  })
  const other = generate.writeRequest(again, { ...to, issuer: 'another' })
  t.notMatch(JSON.stringify(other.body), /c2ln|tollgate/)
  t.match(JSON.stringify(other.body), /skip_thought_signature_validator/)
  t.same(
    parse({
      contents: [{ role: 'model', parts: [{ text: '', thoughtSignature: packSeal({ issuer: 'a', value: 'b' }) }] }],
    }).turns,
    [{ role: 'assistant', parts: [{ kind: 'thought', text: '', form: 'hidden', seal: { issuer: 'a', value: 'b' } }] }],
  )
})

const answer: Answer = {
  parts: [
    { kind: 'thought', form: 'summary', text: 'I think.' },
    {
      kind: 'text',
      text: 'Hello, 🌍',
      logprobs: [{ token: 'Hello', logprob: -0.5, top: [{ token: 'Hi', logprob: -1 }] }],
    },
    { kind: 'call', id: 'call_a', name: 'look', arguments: '{"at":1}' },
    { kind: 'call', id: 'call_b', name: 'look', arguments: '' },
    { kind: 'media', media: 'image', mime: 'image/png', source: { kind: 'bytes', base64: 'AAAA' } },
  ],
  stop: { why: 'calls' },
  usage: { input: 10, output: 20, cacheRead: 4, reasoning: 7, toolInput: 2 },
}

const writeFacts: WriteFacts = {
  id: 'x1',
  created: 1_700_000_000,
  model: 'my-model',
  request: parse({ contents: [] }),
  inputEstimate: 9,
  form: 'events',
}

function streamOf(events: readonly AnswerEvent[], form: WriteFacts['form'] = 'events'): string {
  const writer = generate.createStreamWriter({ ...writeFacts, form })
  return events.map(event => writer.write(event)).join('')
}

function read(records: readonly string[]): readonly AnswerEvent[] {
  const parser = generate.createStreamParser(facts)
  return [...records.flatMap(data => parser.read({ event: '', data } satisfies StreamRecord)), ...parser.end()]
}

t.test("the vendor's SDK reads the stream, and keeps its turn in a chat", async t => {
  const text = streamOf(eventsOf(answer))
  const { fetch } = globalThis
  t.teardown(() => void (globalThis.fetch = fetch))
  globalThis.fetch = () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
  const chatting = new GoogleGenAI({ apiKey: 'k' }).chats.create({ model: 'my-model' })
  const calls: unknown[] = []
  let received = ''
  for await (const chunk of await chatting.sendMessageStream({ message: 'x' })) {
    received += chunk.text ?? ''
    calls.push(...(chunk.functionCalls ?? []))
  }
  t.equal(received, 'Hello, 🌍')
  t.same(calls, [
    { id: 'call_a', name: 'look', args: { at: 1 } },
    { id: 'call_b', name: 'look', args: {} },
  ])
  t.equal(chatting.getHistory(true).length > 1, true)
})

t.test('a stream and a complete answer have the same content, as events and as a list', async t => {
  const whole = generate.writeAnswer(answer, writeFacts)
  const parsed = generate.parseAnswer(whole, facts)
  t.same(parsed.usage, answer.usage)
  const records = streamOf(eventsOf(answer))
    .split('\n\n')
    .filter(Boolean)
    .map(one => one.slice('data: '.length))
  t.same(answerOf(read(records)), parsed)
  const list = JSON.parse(streamOf(eventsOf(answer), 'list')) as readonly JsonObject[]
  t.same(
    list,
    records.map(record => JSON.parse(record) as JsonObject),
  )
})

t.test('finish reasons of filters are refusals, and those of faults are errors', async t => {
  const of = (finishReason: string, parts: readonly JsonObject[] = [{ text: 'x' }]): JsonObject => ({
    candidates: [{ content: { parts }, finishReason }],
  })
  for (const [reason, why] of [
    ['STOP', 'end'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'refused'],
    ['PROHIBITED_CONTENT', 'refused'],
  ] as const) {
    t.equal(generate.parseAnswer(of(reason), facts).stop.why, why, reason)
    t.equal(answerOf(read([JSON.stringify(of(reason))])).stop.why, why, `${reason} in a stream`)
  }
  t.throws(() => generate.parseAnswer(of('MALFORMED_FUNCTION_CALL'), facts), { message: /MALFORMED_FUNCTION_CALL/ })
  t.match(read([JSON.stringify(of('MALFORMED_FUNCTION_CALL'))]).at(-1), { kind: 'error' })
  for (const reason of ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS']) {
    const empty = of(reason, [])
    t.throws(() => generate.parseAnswer(empty, facts), { message: new RegExp(`stopped with ${reason}$`) }, reason)
    t.match(read([JSON.stringify(empty)]).at(-1), { kind: 'error' }, `${reason} in a stream`)
  }
  const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 3 } }
  t.match(generate.parseAnswer(blocked, facts), { parts: [], stop: { why: 'refused' }, usage: { input: 3 } })
  t.match(answerOf(read([JSON.stringify(blocked)])), { parts: [], stop: { why: 'refused', raw: 'SAFETY' } })
  t.throws(() => generate.parseAnswer({}, facts), { message: /no candidates/ })
  t.throws(
    () =>
      generate.writeAnswer(
        { parts: [{ kind: 'call', id: 'a', name: 'f', arguments: '{"cut' }], stop: { why: 'calls' } },
        writeFacts,
      ),
    {
      message: /not a JSON object/,
    },
  )
  const error = {
    error: { code: 429, message: 'Slow.', status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '1.5s' }] },
  }
  t.same(generate.parseProblem(502, error), {
    status: 429,
    message: 'Slow.',
    code: 'RESOURCE_EXHAUSTED',
    retryAfterMs: 1500,
  })
  t.match(read([JSON.stringify(error)]), [{ kind: 'error', problem: { status: 429 } }])
})
