import t, { type Test } from 'tap'
import { packSeal } from '../../plugins/format-bridge/neutral/index.ts'
import { anthropic } from '../../src/api-formats/anthropic.ts'
import type { Json } from '../../src/plugin-api/index.ts'
import {
  formats,
  type Format,
  readRecords,
  translateAnswer,
  translateRequest,
  translateStream,
} from '../harness/translating.ts'

/**
 * Requests and answers that other gateways translated wrongly, each with the resulting status, loss or loop.
 * The numbers come from the list on which the plugin's design is based.
 */
type Trap = { readonly number: number; readonly title: string; readonly run: (t: Test) => void }
const traps: Trap[] = []
const trap = (number: number, title: string, run: (t: Test) => void): void => void traps.push({ number, title, run })

type Members = { readonly [name: string]: Json }
const others = (format: Format): readonly Format[] => formats.filter(one => one !== format)
const json = (value: unknown): string => JSON.stringify(value)
const userMessage = { role: 'user', content: 'x' } as const
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const chatTool = { type: 'function', function: { name: 'look', parameters: schema } } as const

/** A chat request with additional fields. */
const chatOf = (more: Members = {}): Members => ({ messages: [userMessage], ...more })
/** A step of chat completions: calls and their results. */
const chatCall = (id: string, name = 'look', args = '{"city":"Paris"}'): Members => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const chatStep = (message: Members, ...results: readonly Members[]): Members =>
  chatOf({ messages: [userMessage, { role: 'assistant', content: null, ...message }, ...results], tools: [chatTool] })
const chunk = (delta: Members, finish: string | null = null, more: Members = {}): Members => ({
  id: 'c',
  model: 'v',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})
const candidate = (parts: readonly Json[], more: Members = {}, rest: Members = {}): Members => ({
  candidates: [{ content: { role: 'model', parts }, ...more }],
  ...rest,
})
const usageOf = (format: Format, body: Members): Json | undefined =>
  format === 'generate' ? body['usageMetadata'] : body['usage']

trap(1, 'an API version that refuses sampling is not switched on, and a model that refuses it gets none', t => {
  t.same(anthropic.requestDefaults, { 'anthropic-version': '2023-06-01' })
  for (const to of formats) {
    const { body, dropped } = translateRequest('generate', generateOf({ temperature: 0.5, topP: 0.9, topK: 4 }), to, {
      facts: { sampling: false },
    })
    t.notMatch(json(body), /temperature|top_?[pk]/i, to)
    t.ok(dropped.includes('sampling'), to)
  }
})

trap(2, 'temperature and top_p are not sent together to messages', t => {
  const { body, dropped } = translateRequest('chat', chatOf({ temperature: 0.5, top_p: 0.9 }), 'messages')
  t.match(body, { temperature: 0.5, top_p: undefined })
  t.same(dropped, ['sampling'])
  t.match(translateRequest('chat', chatOf({ top_p: 0.9 }), 'messages').body, { top_p: 0.9 })
})

trap(3, 'a request that forces a tool does not think', t => {
  const forced = { tools: [chatTool], reasoning_effort: 'high' }
  const choice = { type: 'function', function: { name: 'look' } }
  for (const reasoning of ['budget', 'adaptive'] as const)
    for (const tool_choice of ['required', choice]) {
      const { body, dropped } = translateRequest('chat', chatOf({ ...forced, tool_choice }), 'messages', {
        facts: { reasoning },
      })
      t.equal(body['thinking'], undefined, `${reasoning} ${json(tool_choice)}`)
      t.same(dropped, ['reasoning'], `${reasoning} ${json(tool_choice)}`)
    }
})

trap(4, 'a budget is at least 1024 and less than the limit', t => {
  for (const [effort, limit, budget] of [
    ['low', 5000, 1024],
    ['high', 5000, 4096],
    ['high', 3000, 2999],
    ['high', 1024, undefined],
    ['high', 1025, 1024],
  ] as const) {
    const request = chatOf({ reasoning_effort: effort, max_completion_tokens: limit })
    const { body, dropped } = translateRequest('chat', request, 'messages', { facts: { reasoning: 'budget' } })
    const own = budget === undefined ? undefined : { type: 'enabled', budget_tokens: budget }
    t.same(body['thinking'], own, `${effort} of ${limit}`)
    t.same(dropped, budget === undefined ? ['reasoning'] : [], `${effort} of ${limit}`)
  }
})

trap(5, 'a step whose thoughts the client has not kept goes on without thinking', t => {
  const step = chatStep({ tool_calls: [chatCall('a')] }, { role: 'tool', tool_call_id: 'a', content: 'warm' })
  for (const reasoning of ['budget', 'adaptive'] as const) {
    const request = { ...step, reasoning_effort: 'high' }
    const { body, dropped } = translateRequest('chat', request, 'messages', { facts: { reasoning } })
    t.equal(body['thinking'], undefined, reasoning)
    t.same(dropped, ['reasoning'], reasoning)
  }
})

trap(6, 'a signature of another issuer is sent to nobody, whether the model thinks or not', t => {
  for (const to of others('messages'))
    for (const signature of ['EqQBCkYIBR', packSeal({ issuer: 'another', value: 'EqQBCkYIBR' })]) {
      const thought = { type: 'thinking', thinking: 'Secret.', signature }
      const content = [thought, { type: 'redacted_thinking', data: signature }, { type: 'text', text: 'Yes.' }]
      const messages = [userMessage, { role: 'assistant', content }, userMessage]
      const { body, dropped, refused } = translateRequest('messages', { max_tokens: 9, messages }, to)
      t.notMatch(json(body), /EqQB|Secret|tollgate-seal/, to)
      t.same([dropped, refused], [['thought'], []], to)
    }
})

trap(7, 'a call without its signature has the documented placeholder, on the first call of each step', t => {
  const step = (id: string): readonly Members[] => [
    { role: 'assistant', content: null, tool_calls: [chatCall(`${id}1`), chatCall(`${id}2`)] },
    { role: 'tool', tool_call_id: `${id}1`, content: 'w' },
    { role: 'tool', tool_call_id: `${id}2`, content: 'w' },
  ]
  const request = chatOf({ messages: [userMessage, ...step('a'), ...step('b')], tools: [chatTool] })
  const signatures = (facts: object): readonly (Json | undefined)[] =>
    (translateRequest('chat', request, 'generate', { facts }).body['contents'] as { parts: Members[] }[])
      .flatMap(({ parts }) => parts)
      .filter(part => part['functionCall'])
      .map(part => part['thoughtSignature'])
  const placeholder = 'skip_thought_signature_validator'
  t.same(signatures({}), [placeholder, undefined, placeholder, undefined])
  t.same(signatures({ reasoning: 'budget' }), [undefined, undefined, undefined, undefined], 'older models need none')
})

// The upstreams of one model count as one issuer of seals: upstreams that cannot read each other's need separate
// models.
trap(8, 'a seal names its issuer, and the same vendor at another place is another', t => {
  const answer = candidate([{ functionCall: { name: 'look', args: {} }, thoughtSignature: 'c2ln' }], {
    finishReason: 'STOP',
  })
  const { choices } = translateAnswer('generate', answer, 'chat') as unknown as { choices: { message: Members }[] }
  const request = chatOf({ messages: [userMessage, choices[0]?.message ?? {}] })
  t.match(json(translateRequest('chat', request, 'generate').body), '"thoughtSignature":"c2ln"')
  const elsewhere = translateRequest('chat', request, 'generate', { facts: { issuer: 'up2' } })
  t.notMatch(json(elsewhere.body), 'c2ln')
})

trap(9, 'an error about encrypted content reaches the client with its code and words', t => {
  const error = { code: 'invalid_encrypted_content', message: 'The encrypted content could not be verified.' }
  const failed = { type: 'response.failed', response: { status: 'failed', error, output: [] } }
  for (const down of others('responses')) t.match(translateStream('responses', [failed], down).problem, error, down)
})

trap(10, 'reasoning_content returns to the vendor that made it, through every format, and is never empty', t => {
  const records = [
    chunk({ role: 'assistant', reasoning_content: 'I think' }),
    chunk({ reasoning_content: ' so.' }),
    chunk({ tool_calls: [{ index: 0, ...chatCall('a') }] }),
    chunk({}, 'tool_calls', { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
    '[DONE]',
  ]
  for (const down of others('chat')) {
    const { records: seen } = translateStream('chat', records, down)
    const { body, dropped } = translateRequest(down, historyOf(down, seen), 'chat')
    t.match(body['messages'], [{}, { role: 'assistant', reasoning_content: 'I think so.' }], down)
    t.same(dropped, [], down)
    const without = translateStream('chat', records.slice(2), down)
    const { body: bare } = translateRequest(down, historyOf(down, without.records), 'chat')
    t.notMatch(json(bare), 'reasoning_content', `${down}, without thoughts`)
  }
})

trap(11, 'parallel calls of generate have ids and indices of their own', t => {
  const call = (name: string): Members => ({ functionCall: { name, args: {} } })
  for (const records of [
    [candidate([call('look'), call('look')]), candidate([call('look')], { finishReason: 'STOP' })],
    [candidate([call('look')]), candidate([call('look')]), candidate([call('look')], { finishReason: 'STOP' })],
  ]) {
    const { records: seen } = translateStream('generate', records, 'chat')
    const calls = seen.flatMap(one => callsOf(one)).filter(one => one['id'] !== undefined)
    t.same(
      calls.map(one => one['index']),
      [0, 1, 2],
      `${records.length} records`,
    )
    t.equal(new Set(calls.map(one => one['id'])).size, 3, `${records.length} records`)
  }
})

trap(12, 'STOP after a call is a call, and MAX_TOKENS stays a limit', t => {
  const call = candidate([{ functionCall: { name: 'look', args: {} } }])
  for (const [reason, finish] of [
    ['STOP', 'tool_calls'],
    ['MAX_TOKENS', 'length'],
  ] as const) {
    const records = [call, candidate([{ text: '' }], { finishReason: reason })]
    t.match(translateStream('generate', records, 'chat').text, `"finish_reason":"${finish}"`, reason)
  }
})

trap(13, 'all results of a step are in one content', t => {
  const result = (id: string): Members => ({ role: 'tool', tool_call_id: id, content: 'warm' })
  const request = chatStep({ tool_calls: [chatCall('a'), chatCall('b')] }, result('a'), result('b'), userMessage)
  for (const [to, turn] of [
    ['generate', { role: 'user', parts: [{ functionResponse: { id: 'a' } }, { functionResponse: { id: 'b' } }] }],
    ['messages', { role: 'user', content: [{ tool_use_id: 'a' }, { tool_use_id: 'b' }, { text: 'x' }] }],
  ] as const) {
    const { body } = translateRequest('chat', request, to)
    t.match(body['contents'] ?? body['messages'], [{}, {}, turn], to)
  }
})

trap(14, 'a blocked prompt and every reason of a filter are refusals, and never an ordinary end', t => {
  const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 3 } }
  const filtered = candidate([{ text: 'So' }], { finishReason: 'RECITATION' })
  for (const answer of [blocked, filtered])
    for (const [down, refusal] of [
      ['chat', '"finish_reason":"content_filter"'],
      ['messages', '"stop_reason":"refusal"'],
      ['responses', '"reason":"content_filter"'],
    ] as const) {
      t.match(json(translateAnswer('generate', answer, down)), refusal, down)
      t.match(translateStream('generate', [answer], down).text, refusal, `${down}, streamed`)
    }
  const unknown = candidate([{ text: 'So' }], { finishReason: 'A_NEW_REASON' })
  t.throws(() => translateAnswer('generate', unknown, 'chat'), { message: /A_NEW_REASON/ })
  t.match(translateStream('generate', [unknown], 'chat').problem, { message: /A_NEW_REASON/ })
})

const dialects = {
  type: 'object',
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  properties: { at: { type: ['string', 'null'] }, kind: { const: 'a' } },
  required: ['at', 'kind'],
  additionalProperties: false,
} as const

for (const [number, title] of [
  [15, 'keywords of JSON Schema'],
  [16, 'lists of types'],
] as const)
  trap(number, `${title} are sent to generate in the field that takes JSON Schema`, t => {
    const tool = { type: 'function', function: { name: 'look', parameters: dialects } }
    const format = { type: 'json_schema', json_schema: { name: 'a', schema: dialects } }
    const { body, refused } = translateRequest('chat', chatOf({ tools: [tool], response_format: format }), 'generate')
    t.same(body['tools'], [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: dialects }] }], title)
    t.match(body['generationConfig'], { responseJsonSchema: dialects, responseSchema: undefined }, title)
    t.same(refused, [], title)
  })

trap(17, "the root of a tool's schema is an object without a union, for every upstream", t => {
  const one = (name: string): Members => ({
    type: 'object',
    properties: { [name]: { type: 'string' } },
    required: [name],
  })
  for (const union of ['anyOf', 'oneOf'])
    for (const to of others('messages')) {
      const input_schema = { [union]: [one('a'), one('b')] }
      const tools = [{ name: 'look', description: 'Looks.', input_schema }]
      const { body, refused } = translateRequest('messages', { max_tokens: 9, messages: [userMessage], tools }, to)
      const text = json(body['tools'])
      const root = /"parameters(?:JsonSchema)?":(\{"type":"object","properties":\{"a":.*?"b":)/.exec(text)
      t.ok(root, `${union} to ${to}: ${text}`)
      t.notMatch(root?.[1] ?? '', union, to)
      t.match(text, `${union}: [{`, `${to}: the description says it`)
      t.same(refused, [], to)
    }
})

trap(18, 'a tool for responses always says whether it is strict', t => {
  const strict = (value: Json | undefined): Json | undefined => {
    const own = { name: 'look', parameters: schema, ...(value !== undefined && { strict: value }) }
    const { body } = translateRequest('chat', chatOf({ tools: [{ type: 'function', function: own }] }), 'responses')
    return (body['tools'] as Members[])[0]?.['strict']
  }
  t.equal(strict(undefined), false)
  t.equal(strict(false), false)
  t.equal(strict(true), false, 'a schema that cannot be strict')
})

trap(19, 'names of tools with up to 128 characters are shortened, and the client gets its own back', t => {
  const name = `mcp__${'server.'.repeat(17)}`
  const request = { max_tokens: 9, messages: [userMessage], tools: [{ name, input_schema: schema }] }
  for (const to of others('messages')) {
    const sent = translateRequest('messages', request, to)
    const [short = ''] = sent.names.keys()
    t.match(short, /^[A-Za-z0-9_-]{1,64}$/, to)
    t.match(json(sent.body), `"${short}"`, to)
    t.notMatch(json(sent.body), name, to)
  }
  const sent = translateRequest('messages', request, 'chat')
  const [short = ''] = sent.names.keys()
  const tool_calls = [chatCall('a', short)]
  const answer = {
    choices: [{ message: { role: 'assistant', content: null, tool_calls }, finish_reason: 'tool_calls' }],
  }
  t.match(translateAnswer('chat', answer, 'messages', sent), { content: [{ type: 'tool_use', name }] })
})

trap(20, 'ids of calls that messages refuses are replaced, and different ones stay different', t => {
  const ids = ['functions.Bash:0', 'functions.Bash:1', 'functions_Bash:0', 'functions_Bash_0']
  const results = ids.map(id => ({ role: 'tool', tool_call_id: id, content: 'w' }))
  const { body } = translateRequest(
    'chat',
    chatStep({ tool_calls: ids.map(id => chatCall(id)) }, ...results),
    'messages',
  )
  const [, calls, answers] = body['messages'] as { content: Members[] }[]
  const sent = calls?.content.map(one => one['id'] as string) ?? []
  t.equal(new Set(sent).size, ids.length)
  for (const id of sent) t.match(id, /^[A-Za-z0-9_-]+$/, id)
  t.same(
    answers?.content.map(one => one['tool_use_id']),
    sent,
  )
})

trap(21, 'a call for responses has the call_id alone', t => {
  const request = chatStep({ tool_calls: [chatCall('call_1')] }, { role: 'tool', tool_call_id: 'call_1', content: 'w' })
  const { body } = translateRequest('chat', request, 'responses')
  const call = (body['input'] as Members[]).find(item => item['type'] === 'function_call')
  t.equal(call?.['call_id'], 'call_1')
  t.notOk('id' in (call ?? {}))
})

// A result without a call is forwarded unchanged: the vendor's error names it, as for a native request.
trap(22, 'results that responses allows anywhere follow their calls directly', t => {
  const call = (call_id: string): Members => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' })
  const output = (call_id: string): Members => ({ type: 'function_call_output', call_id, output: 'w' })
  const input = [
    userMessage,
    call('a'),
    call('b'),
    output('b'),
    { role: 'user', content: 'Wait.' },
    output('a'),
    userMessage,
  ]
  const sent = (to: Format): Json | undefined => {
    const { body } = translateRequest('responses', { input }, to)
    return body['messages'] ?? body['contents']
  }
  t.match(sent('chat'), [{}, {}, { tool_call_id: 'b' }, { tool_call_id: 'a' }, { content: 'Wait.' }, {}])
  t.match(sent('messages'), [{}, {}, { content: [{ tool_use_id: 'b' }, { tool_use_id: 'a' }, { text: 'Wait.' }, {}] }])
  t.match(sent('generate'), [
    {},
    {},
    { parts: [{ functionResponse: { id: 'b' } }, { functionResponse: { id: 'a' } }] },
    { parts: [{ text: 'Wait.' }] },
    {},
  ])
})

trap(23, 'an empty text next to calls is no block', t => {
  const request = chatStep(
    { content: '', tool_calls: [chatCall('a')] },
    { role: 'tool', tool_call_id: 'a', content: '' },
  )
  const { body } = translateRequest('chat', request, 'messages')
  t.match(body['messages'], [
    {},
    { content: [{ type: 'tool_use' }] },
    { content: [{ type: 'tool_result', content: [] }] },
  ])
  const message = { role: 'assistant', content: '', tool_calls: [chatCall('a')] }
  const answer = { choices: [{ message, finish_reason: 'tool_calls' }] }
  const { content } = translateAnswer('chat', answer, 'messages')
  t.match(content, [{ type: 'tool_use' }])
})

trap(24, 'a call without arguments has {}, and one that comes whole has its own', t => {
  const start = (input: Members): readonly Members[] => [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'look', input } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ]
  for (const input of [{}, { city: 'Paris' }]) {
    const { records } = translateStream('messages', start(input), 'chat')
    t.equal(argumentsOf(records), json(input), json(input))
  }
  const bare = [
    chunk({ tool_calls: [{ index: 0, ...chatCall('a', 'look', '') }] }),
    chunk({}, 'tool_calls', { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
    '[DONE]',
  ]
  t.match(translateStream('chat', bare, 'responses').text, '"arguments":"{}","status":"completed"')
  t.match(translateStream('chat', bare, 'messages').text, '"partial_json":"{}"')
})

trap(25, 'an image in a result reaches the model', t => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
  const call = { type: 'tool_use', id: 'a', name: 'look', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'a', content: [image] }
  const messages = [userMessage, { role: 'assistant', content: [call] }, { role: 'user', content: [result] }]
  for (const to of others('messages')) {
    const { body, refused } = translateRequest('messages', { max_tokens: 9, messages }, to)
    t.match(json(body), 'iVBORw0KGgo=', to)
    t.same(refused, [], to)
  }
})

trap(26, 'a freeform tool is a function with one text, and its calls are text again', t => {
  const patch = '*** Begin Patch\n"a"'
  const request = {
    input: [
      userMessage,
      { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: patch },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'done' },
    ],
    tools: [
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: x' } },
    ],
  }
  const sent = translateRequest('responses', request, 'chat')
  t.same(sent.refused, [])
  t.match(sent.body['tools'], [{ function: { name: 'apply_patch', parameters: { required: ['input'] } } }])
  t.match(sent.body['messages'], [{}, { tool_calls: [{ function: { arguments: json({ input: patch }) } }] }, {}])
  const records = [
    chunk({ tool_calls: [{ index: 0, ...chatCall('a', 'apply_patch', json({ input: patch }).slice(0, 9)) }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: json({ input: patch }).slice(9) } }] }),
    chunk({}, 'tool_calls', { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
  ]
  const { records: seen } = translateStream('chat', records, 'responses', sent)
  t.match(seen.at(-1), { response: { output: [{ type: 'custom_tool_call', name: 'apply_patch', input: patch }] } })
})

const item = { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'look', arguments: '{"city":"Paris"}' } as const
const completed = (output: readonly Json[] = []): Members => ({
  type: 'response.completed',
  response: { status: 'completed', output, usage: { input_tokens: 3, output_tokens: 4 } },
})
const added = { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } } as const
const itemDone = { type: 'response.output_item.done', output_index: 0, item } as const
const argumentsDone = {
  type: 'response.function_call_arguments.done',
  output_index: 0,
  item_id: 'fc_1',
  arguments: item.arguments,
} as const
const delta = { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1' } as const

trap(27, 'arguments count once, wherever they come', t => {
  const halves = [
    { ...delta, delta: '{"city":' },
    { ...delta, delta: '"Paris"}' },
  ]
  for (const [name, records] of Object.entries({
    'deltas and both repetitions': [added, ...halves, argumentsDone, itemDone, completed([item])],
    'deltas alone': [added, ...halves, completed()],
    'done alone': [added, argumentsDone, completed()],
    'the item alone': [itemDone, completed()],
    'the last event alone': [completed([item])],
  }))
    t.equal(argumentsOf(translateStream('responses', records, 'chat').records), item.arguments, name)
})

trap(28, 'deltas that come before their item or part are not lost', t => {
  const text = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' }
  t.match(translateStream('responses', [text, completed()], 'chat').text, '"content":"Hi"')
  const late = [{ ...delta, delta: item.arguments }, added, itemDone, completed()]
  t.equal(argumentsOf(translateStream('responses', late, 'chat').records), item.arguments)
})

trap(29, 'the last event of responses repeats all items', t => {
  const records = [
    chunk({ role: 'assistant', content: 'Hi' }),
    chunk({ tool_calls: [{ index: 0, ...chatCall('a') }] }),
    chunk({}, 'tool_calls', { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
  ]
  const { records: seen } = translateStream('chat', records, 'responses')
  t.match(seen.at(-1), {
    type: 'response.completed',
    response: {
      output: [
        { type: 'message', content: [{ text: 'Hi' }] },
        { type: 'function_call', call_id: 'a' },
      ],
    },
  })
})

trap(30, 'an incomplete response is an answer with its usage', t => {
  const response = {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
    usage: { input_tokens: 3, output_tokens: 4 },
  }
  for (const [down, reason] of [
    ['chat', '"finish_reason":"length"'],
    ['messages', '"stop_reason":"max_tokens"'],
    ['generate', '"finishReason":"MAX_TOKENS"'],
  ] as const) {
    const whole = translateAnswer('responses', response, down)
    const { text } = translateStream('responses', [{ type: 'response.incomplete', response }], down)
    for (const seen of [json(whole), text]) {
      t.match(seen, reason, down)
      t.match(seen, /"(?:completion_tokens|output_tokens|candidatesTokenCount)":4/, down)
    }
  }
})

trap(31, 'usage counts on the record of the finish and after it', t => {
  const usage = { prompt_tokens: 20, completion_tokens: 7 }
  for (const end of [
    [chunk({}, 'stop', { usage }), '[DONE]'],
    [chunk({}, 'stop'), { choices: [], usage }, '[DONE]'],
    [chunk({}, 'stop'), chunk({}, null, { usage })],
    [{ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }, '[DONE]'],
  ]) {
    const { text, problem } = translateStream('chat', [chunk({ role: 'assistant', content: 'Hi' }), ...end], 'messages')
    t.match(
      text,
      '"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7',
      json(end),
    )
    t.equal(problem, undefined, json(end))
  }
})

trap(32, 'usage that the client has not requested is not written, and stands next to no choice', t => {
  const records = [
    { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ]
  const translated = (more: Members) => translateRequest('chat', chatOf({ stream: true, ...more }), 'messages')
  const silent = translateStream('messages', records, 'chat', translated({}))
  t.notOk(silent.records.some(one => one['usage']))
  const counted = translateStream('messages', records, 'chat', translated({ stream_options: { include_usage: true } }))
  t.match(counted.records.at(-1), { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } })
  t.equal(counted.records.filter(one => one['usage']).length, 1)
  const { body } = translateRequest('messages', { max_tokens: 9, messages: [userMessage] }, 'chat', { stream: true })
  t.same(body['stream_options'], { include_usage: true }, 'the gateway always requests it')
})

trap(33, 'message_start has an estimate of the input', t => {
  const [start] = translateStream('chat', [chunk({ role: 'assistant', content: 'Hi' })], 'messages').records
  t.match(start, { type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 0 } } })
  const counted = candidate([{ text: 'Hi' }], {}, { usageMetadata: { promptTokenCount: 30 } })
  const [early] = translateStream('generate', [counted], 'messages').records
  t.match(early, { type: 'message_start', message: { usage: { input_tokens: 30 } } }, 'generate reports it in time')
})

trap(34, 'cached tokens count once, read and written', t => {
  const message = { role: 'assistant', content: 'Hi' }
  const usages: { readonly [up in Format]: Members } = {
    chat: {
      choices: [{ message, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      },
    },
    responses: {
      output: [],
      usage: {
        input_tokens: 100,
        output_tokens: 5,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      },
    },
    messages: {
      content: [],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, cache_read_input_tokens: 60, cache_creation_input_tokens: 30, output_tokens: 5 },
    },
    generate: candidate(
      [{ text: 'Hi' }],
      { finishReason: 'STOP' },
      {
        usageMetadata: {
          promptTokenCount: 100,
          cachedContentTokenCount: 60,
          candidatesTokenCount: 5,
          totalTokenCount: 105,
        },
      },
    ),
  }
  for (const up of formats)
    for (const down of others(up)) {
      // Generate has no count of cache writes: they are part of its ordinary input count.
      const written = up === 'generate' ? 0 : 30
      const wanted: { readonly [format in Format]: Members } = {
        chat: { prompt_tokens: 100, total_tokens: 105, prompt_tokens_details: { cached_tokens: 60 } },
        responses: { input_tokens: 100, total_tokens: 105, input_tokens_details: { cached_tokens: 60 } },
        messages: {
          input_tokens: 40 - written,
          cache_read_input_tokens: 60,
          cache_creation_input_tokens: written,
          output_tokens: 5,
        },
        generate: { promptTokenCount: 100, cachedContentTokenCount: 60, totalTokenCount: 105 },
      }
      t.match(usageOf(down, translateAnswer(up, usages[up], down)), wanted[down], `${up} to ${down}`)
    }
})

trap(35, 'thoughts of generate are part of the output', t => {
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 20, totalTokenCount: 35 }
  const answer = candidate([{ text: 'Hi' }], { finishReason: 'STOP' }, { usageMetadata })
  t.match(usageOf('chat', translateAnswer('generate', answer, 'chat')), {
    completion_tokens: 25,
    total_tokens: 35,
    completion_tokens_details: { reasoning_tokens: 20 },
  })
  t.match(usageOf('messages', translateAnswer('generate', answer, 'messages')), { output_tokens: 25 })
  t.match(usageOf('responses', translateAnswer('generate', answer, 'responses')), { output_tokens: 25 })
})

trap(36, 'an error in a stream and a cut stream are errors', t => {
  const begun: { readonly [up in Format]: Members } = {
    chat: chunk({ role: 'assistant', content: 'Hi' }),
    responses: { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' },
    messages: { type: 'message_start', message: {} },
    generate: candidate([{ text: 'Hi' }]),
  }
  const errors: { readonly [up in Format]: Members } = {
    chat: { error: { message: 'It broke.', type: 'server_error' } },
    responses: { type: 'error', message: 'It broke.', code: 'server_error' },
    messages: { type: 'error', error: { type: 'overloaded_error', message: 'It broke.' } },
    generate: { error: { code: 503, message: 'It broke.', status: 'UNAVAILABLE' } },
  }
  for (const up of formats) {
    const failed = readRecords(up, [begun[up], errors[up]])
    t.match(failed.at(-1), { kind: 'error', problem: { message: 'It broke.' } }, up)
    const cut = readRecords(up, [begun[up]])
    t.match(cut.at(-1), { kind: 'error' }, `${up}, cut`)
    t.notOk(
      [...failed, ...cut].some(({ kind }) => kind === 'end' || kind === 'finish'),
      up,
    )
  }
})

// The engine keeps idle streams alive in the client's format: `server.heartbeat` (test/http).
trap(37, 'no record that is written has an id line or a comment, and pings of upstreams end with them', t => {
  const ping = { type: 'ping' }
  const records = [
    { type: 'message_start', message: {} },
    ping,
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
    ping,
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ]
  for (const down of others('messages')) {
    const { text, problem } = translateStream('messages', records, down)
    t.notMatch(text, /^(?:id:|:)|ping/m, down)
    t.equal(problem, undefined, down)
  }
})

trap(38, 'a system block that differs in each request does not stop the cache of another vendor', t => {
  const nonce = 'x-anthropic-billing-header: cc_version=2.1.90; cc_entrypoint=cli; cch=a1b2c;'
  const system = [
    { type: 'text', text: nonce },
    { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
  ]
  for (const to of others('messages')) {
    const { body, dropped } = translateRequest('messages', { max_tokens: 9, system, messages: [userMessage] }, to)
    t.notMatch(json(body), 'cch=', to)
    t.match(json(body), 'Be brief.', to)
    t.ok(dropped.includes('metadata'), to)
  }
})

trap(39, 'at most four cache hints are sent, the last ones', t => {
  const part = (text: string): Members => ({ type: 'text', text, cache_control: { type: 'ephemeral' } })
  const content = ['a', 'b', 'c', 'd', 'e', 'f'].map(part)
  const { body, dropped } = translateRequest('chat', chatOf({ messages: [{ role: 'user', content }] }), 'messages')
  const [message] = body['messages'] as { content: Members[] }[]
  t.same(
    message?.content.filter(one => one['cache_control']).map(one => one['text']),
    ['c', 'd', 'e', 'f'],
  )
  t.ok(dropped.includes('cache_hint'))
})

// Chat completions allow system messages anywhere: they keep their position. A model whose template refuses them needs
// clients that put all instructions first.
trap(40, 'later instructions keep their place, and are never the first message', t => {
  const system = { role: 'system', content: 'Be brief.' }
  const messages = [
    system,
    { role: 'developer', content: 'In English.' },
    userMessage,
    system,
    { role: 'assistant', content: 'y' },
  ]
  const request = chatOf({ messages: [...messages, system, userMessage] })
  t.match(translateRequest('chat', request, 'messages').body, {
    system: [{ text: 'Be brief.' }, { text: 'In English.' }],
    messages: [
      { role: 'user', content: [{ text: 'x' }, { text: '<system>\nBe brief.\n</system>' }] },
      { role: 'assistant' },
      { role: 'user', content: [{ text: '<system>\nBe brief.\n</system>' }, { text: 'x' }] },
    ],
  })
  const { body } = translateRequest('chat', request, 'generate')
  t.match(body['systemInstruction'], { parts: [{ text: 'Be brief.' }, { text: 'In English.' }] })
  t.match((body['contents'] as Members[])[0], { role: 'user', parts: [{ text: 'x' }] })
})

function generateOf(generationConfig: Members): Members {
  return { contents: [{ role: 'user', parts: [{ text: 'x' }] }], generationConfig }
}

/** The fragments of calls in a record of chat completions. */
function callsOf(record: Members): readonly Members[] {
  const [choice] = record['choices'] as readonly { delta: Members }[]
  return (choice?.delta['tool_calls'] ?? []) as readonly Members[]
}

function argumentsOf(records: readonly Members[]): string {
  return records
    .flatMap(callsOf)
    .map(call => (call['function'] as { arguments?: string } | undefined)?.arguments ?? '')
    .join('')
}

/** The next request of a client that returns the received answer, in the form that the official SDKs keep. */
function historyOf(format: Format, records: readonly Members[]): Members {
  if (format === 'responses') {
    const last = records.at(-1) as { response: { output: Json[] } } | undefined
    return { input: [userMessage, ...(last?.response.output ?? [])] }
  }
  if (format === 'generate') {
    const contents = records.flatMap(record => (record['candidates'] as { content: Json }[])[0]?.content ?? [])
    return { contents: [{ role: 'user', parts: [{ text: 'x' }] }, ...contents] }
  }
  const blocks: { [name: string]: Json }[] = []
  for (const record of records) {
    const index = record['index'] as number
    if (record['type'] === 'content_block_start') blocks[index] = { ...(record['content_block'] as Members) }
    const more = record['delta'] as { type: string; thinking?: string; signature?: string } | undefined
    const block = blocks[index]
    if (!block || !more) continue
    if (more.type === 'thinking_delta') block['thinking'] = `${block['thinking'] as string}${more.thinking}`
    if (more.type === 'signature_delta') block['signature'] = more.signature ?? ''
  }
  return { max_tokens: 9, messages: [userMessage, { role: 'assistant', content: blocks }] }
}

t.test('every trap of the list has a test', async t => {
  t.same(
    traps.map(({ number }) => number),
    Array.from({ length: 40 }, (_, i) => i + 1),
  )
})

for (const { number, title, run } of traps) t.test(`trap ${number}: ${title}`, async t => run(t))
