import type { ServerResponse } from 'node:http'
import type { Format } from './translating.ts'
import type { Received } from './upstream.ts'

/**
 * Answers of upstreams in each format, record by record. They are written by hand, with members that clients of other
 * formats do not use. They are independent of the plugin's encoders.
 */
export type VendorAnswer = { readonly whole: object; readonly records: readonly object[] }

/** `calls`: the model looks up two cities. `final`: it answers with an object. */
export type VendorStep = 'calls' | 'final'

/** In all formats: 30 tokens of input, 10 of them cached, and 12 of output. */
const pieces = ['{"city":', '"Paris"}'] as const

const chatUsage = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 10, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 4,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
}
const chatHead = {
  id: 'chatcmpl-Dv1',
  created: 1_790_000_000,
  model: 'vendor-model-2026',
  service_tier: 'default',
  system_fingerprint: 'fp_44',
}
const chatCall = (id: string, city: string): object => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: `{"city":"${city}"}` },
})
const chatWhole = (message: object, finish_reason: string): object => ({
  ...chatHead,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', refusal: null, annotations: [], ...message },
      logprobs: null,
      finish_reason,
    },
  ],
  usage: chatUsage,
})
const chatChunk = (delta: object, finish_reason: string | null = null): object => ({
  ...chatHead,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  usage: null,
  obfuscation: 'x8Kq',
})
const chatDelta = (index: number, more: object): object => chatChunk({ tool_calls: [{ index, ...more }] })
const chatEnd = (finish: string): readonly object[] => [
  chatChunk({}, finish),
  { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: chatUsage, obfuscation: 'w' },
]

const chat: { readonly [step in VendorStep]: VendorAnswer } = {
  calls: {
    whole: chatWhole(
      { content: '{"warm":false}', tool_calls: [chatCall('call_Pa', 'Paris'), chatCall('call_Ro', 'Rome')] },
      'tool_calls',
    ),
    records: [
      chatChunk({ role: 'assistant', content: '', refusal: null }),
      chatChunk({ content: '{"warm":' }),
      chatChunk({ content: 'false}' }),
      chatDelta(0, { id: 'call_Pa', type: 'function', function: { name: 'look', arguments: '' } }),
      ...pieces.map(text => chatDelta(0, { function: { arguments: text } })),
      chatDelta(1, { id: 'call_Ro', type: 'function', function: { name: 'look', arguments: '' } }),
      chatDelta(1, { function: { arguments: '{"city":"Rome"}' } }),
      ...chatEnd('tool_calls'),
    ],
  },
  final: {
    whole: chatWhole({ content: '{"warm":true}' }, 'stop'),
    records: [
      chatChunk({ role: 'assistant', content: '', refusal: null }),
      chatChunk({ content: '{"warm":' }),
      chatChunk({ content: 'true}' }),
      ...chatEnd('stop'),
    ],
  },
}

const messagesUsage = {
  input_tokens: 20,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 10,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  service_tier: 'standard',
  inference_geo: 'global',
}
const messageHead = { id: 'msg_01Xa', type: 'message', role: 'assistant', model: 'vendor-model-2026' }
const toolUse = (id: string, input: object): object => ({
  type: 'tool_use',
  id,
  name: 'look',
  input,
  caller: { type: 'direct' },
})
const messagesWhole = (content: readonly object[], stop_reason: string): object => ({
  ...messageHead,
  content,
  stop_reason,
  stop_sequence: null,
  stop_details: null,
  usage: { ...messagesUsage, output_tokens: 12 },
})
const blockRecords = (index: number, content_block: object, deltas: readonly object[]): readonly object[] => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]
const messagesRecords = (blocks: readonly (readonly object[])[], stop_reason: string): readonly object[] => [
  {
    type: 'message_start',
    message: {
      ...messageHead,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...messagesUsage, output_tokens: 1 },
    },
  },
  { type: 'ping' },
  ...blocks.flat(),
  {
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null, stop_details: null },
    usage: { ...messagesUsage, output_tokens: 12 },
  },
  { type: 'message_stop' },
]
const textDeltas = (...texts: readonly string[]): readonly object[] => texts.map(text => ({ type: 'text_delta', text }))
const inputDeltas = (...texts: readonly string[]): readonly object[] =>
  ['', ...texts].map(partial_json => ({ type: 'input_json_delta', partial_json }))

const messages: { readonly [step in VendorStep]: VendorAnswer } = {
  calls: {
    whole: messagesWhole(
      [
        { type: 'text', text: '{"warm":false}' },
        toolUse('toolu_01Pa', { city: 'Paris' }),
        toolUse('toolu_01Ro', { city: 'Rome' }),
      ],
      'tool_use',
    ),
    records: messagesRecords(
      [
        blockRecords(0, { type: 'text', text: '' }, textDeltas('{"warm":', 'false}')),
        blockRecords(1, toolUse('toolu_01Pa', {}), inputDeltas(...pieces)),
        blockRecords(2, toolUse('toolu_01Ro', {}), inputDeltas('{"city":"Rome"}')),
      ],
      'tool_use',
    ),
  },
  final: {
    whole: messagesWhole([{ type: 'text', text: '{"warm":true}' }], 'end_turn'),
    records: messagesRecords(
      [blockRecords(0, { type: 'text', text: '' }, textDeltas('{"warm":', 'true}'))],
      'end_turn',
    ),
  },
}

const responsesUsage = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 10 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 42,
}
const responseOf = (status: string, output: readonly object[], usage: object | null): object => ({
  id: 'resp_07a',
  object: 'response',
  created_at: 1_790_000_000,
  status,
  background: false,
  error: null,
  incomplete_details: null,
  instructions: 'Be brief.',
  model: 'vendor-model-2026',
  output,
  parallel_tool_calls: true,
  store: false,
  service_tier: 'default',
  usage,
  metadata: {},
})
const reasoningItem = { id: 'rs_07a', type: 'reasoning', summary: [], encrypted_content: 'gAAAAABo' }
const callItem = (id: string, city: string): object => ({
  id: `fc_${id}`,
  type: 'function_call',
  status: 'completed',
  arguments: `{"city":"${city}"}`,
  call_id: `call_${id}`,
  name: 'look',
})
const textPart = (text: string): object => ({ type: 'output_text', annotations: [], logprobs: [], text })
const messageItem = (text: string): object => ({
  id: 'msg_07a',
  type: 'message',
  status: 'completed',
  content: [textPart(text)],
  phase: 'final_answer',
  role: 'assistant',
})
const itemRecords = (
  output_index: number,
  item: object,
  begun: object,
  between: readonly object[],
): readonly object[] => [
  { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', ...begun } },
  ...between.map(one => ({ output_index, ...one })),
  { type: 'response.output_item.done', output_index, item },
]
const messageRecords = (output_index: number, ...texts: readonly string[]): readonly object[] => {
  const at = { item_id: 'msg_07a', content_index: 0 }
  return itemRecords(output_index, messageItem(texts.join('')), { content: [] }, [
    { type: 'response.content_part.added', ...at, part: textPart('') },
    ...texts.map(delta => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [], obfuscation: 'aX' })),
    { type: 'response.output_text.done', ...at, text: texts.join(''), logprobs: [] },
    { type: 'response.content_part.done', ...at, part: textPart(texts.join('')) },
  ])
}
const callRecords = (output_index: number, id: string, city: string, ...texts: readonly string[]): readonly object[] =>
  itemRecords(output_index, callItem(id, city), { arguments: '' }, [
    ...texts.map(delta => ({
      type: 'response.function_call_arguments.delta',
      item_id: `fc_${id}`,
      delta,
      obfuscation: 'k',
    })),
    { type: 'response.function_call_arguments.done', item_id: `fc_${id}`, arguments: texts.join('') },
  ])
const responsesRecords = (items: readonly (readonly object[])[], output: readonly object[]): readonly object[] =>
  [
    { type: 'response.created', response: responseOf('in_progress', [], null) },
    { type: 'response.in_progress', response: responseOf('in_progress', [], null) },
    ...items.flat(),
    { type: 'response.completed', response: responseOf('completed', output, responsesUsage) },
  ].map((record, sequence_number) => ({ ...record, sequence_number }))

const calledOutput = [reasoningItem, messageItem('{"warm":false}'), callItem('Pa', 'Paris'), callItem('Ro', 'Rome')]
const responses: { readonly [step in VendorStep]: VendorAnswer } = {
  calls: {
    whole: responseOf('completed', calledOutput, responsesUsage),
    records: responsesRecords(
      [
        itemRecords(0, reasoningItem, { encrypted_content: 'gAAA' }, []),
        messageRecords(1, '{"warm":', 'false}'),
        callRecords(2, 'Pa', 'Paris', ...pieces),
        callRecords(3, 'Ro', 'Rome', '{"city":"Rome"}'),
      ],
      calledOutput,
    ),
  },
  final: {
    whole: responseOf('completed', [messageItem('{"warm":true}')], responsesUsage),
    records: responsesRecords([messageRecords(0, '{"warm":', 'true}')], [messageItem('{"warm":true}')]),
  },
}

const usageMetadata = {
  promptTokenCount: 30,
  candidatesTokenCount: 8,
  totalTokenCount: 42,
  cachedContentTokenCount: 10,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 30 }],
  cacheTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
  thoughtsTokenCount: 4,
}
const generated = (parts: readonly object[], finishReason?: string): object => ({
  candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }), index: 0 }],
  usageMetadata,
  modelVersion: 'vendor-model-2026',
  responseId: 'q83vEjRW',
})
const functionCall = (city: string, more: object = {}): object => ({
  functionCall: { name: 'look', args: { city } },
  ...more,
})

const generate: { readonly [step in VendorStep]: VendorAnswer } = {
  calls: {
    whole: generated(
      [{ text: '{"warm":false}' }, functionCall('Paris', { thoughtSignature: 'EtsBCtgB' }), functionCall('Rome')],
      'STOP',
    ),
    records: [
      generated([{ text: '{"warm":' }]),
      generated([{ text: 'false}' }]),
      generated([functionCall('Paris', { thoughtSignature: 'EtsBCtgB' }), functionCall('Rome')]),
      generated([{ text: '' }], 'STOP'),
    ],
  },
  final: {
    whole: generated([{ text: '{"warm":true}', thoughtSignature: 'EtsBCtgB' }], 'STOP'),
    records: [
      generated([{ text: '{"warm":' }]),
      generated([{ text: 'true}' }]),
      generated([{ text: '', thoughtSignature: 'EtsBCtgB' }], 'STOP'),
    ],
  },
}

export const vendorAnswers: { readonly [format in Format]: { readonly [step in VendorStep]: VendorAnswer } } = {
  chat,
  responses,
  messages,
  generate,
}

/** The event stream of records, as the format's vendor frames it. */
export function vendorStream(format: Format, records: readonly object[]): string {
  const named = format === 'messages' || format === 'responses'
  const end = format === 'generate' ? '\r\n\r\n' : '\n\n'
  const framed = records.map(record => {
    const name = named && 'type' in record ? `event: ${String(record.type)}\n` : ''
    return `${name}data: ${JSON.stringify(record)}${end}`
  })
  return framed.join('') + (format === 'chat' ? 'data: [DONE]\n\n' : '')
}

const paths: readonly (readonly [path: string, format: Format])[] = [
  ['/chat/completions', 'chat'],
  ['/responses', 'responses'],
  ['/messages', 'messages'],
  ['enerateContent', 'generate'],
]

/** An upstream of every format: it calls tools first, and answers once it has their results. */
export function answerAsVendor(res: ServerResponse, received: Received): void {
  const { url, body } = received
  const format = paths.find(([path]) => url.includes(path))?.[1] ?? 'chat'
  const hasResults = /"(?:tool|tool_result|function_call_output|functionResponse)"/.test(body.toString())
  const { whole, records } = vendorAnswers[format][hasResults ? 'final' : 'calls']
  const isStream = url.includes('streamGenerate') || received.json()['stream'] === true
  res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  res.end(isStream ? vendorStream(format, records) : JSON.stringify(whole))
}
