import t from 'tap'
import {
  type AnswerEvent,
  answerOf,
  createSequencer,
  effortOf,
  eventsOf,
  type JsonObject,
  nearestEffort,
  packSeal,
  RequestFault,
  safeCallId,
  unpackSeal,
  withSafeNames,
} from '../../plugins/format-bridge/neutral/index.ts'
import { caseName } from '../harness/case-name.ts'
import { type Format, translateRequest } from '../harness/translating.ts'

t.test("a seal returns to its issuer, and one that the gateway did not pack belongs to the client's side", async t => {
  const seal = { issuer: 'a1b2', value: 'Zm9v.YmFy' }
  t.same(unpackSeal(packSeal(seal), 'other'), seal)
  t.same(unpackSeal('EqQBCkYIBR', 'other'), { issuer: 'other', value: 'EqQBCkYIBR' })
})

t.test('parts that are open at the same time are written one after another, complete and in order', async t => {
  const events: readonly AnswerEvent[] = [
    { kind: 'start' },
    { kind: 'open', at: 0, part: { kind: 'call', id: 'a', name: 'one' } },
    { kind: 'text', at: 0, text: '{"x"' },
    { kind: 'open', at: 1, part: { kind: 'call', id: 'b', name: 'two' } },
    { kind: 'text', at: 1, text: '{"y":' },
    { kind: 'text', at: 0, text: ':1}' },
    { kind: 'text', at: 1, text: '2}' },
    { kind: 'finish', stop: { why: 'calls' } },
    { kind: 'end' },
  ]
  const sequencer = createSequencer()
  const out = events.flatMap(event => sequencer(event))
  t.same(
    out.map(event => ('at' in event ? `${event.kind} ${event.at}` : event.kind)),
    ['start', 'open 0', 'text 0', 'text 0', 'close 0', 'open 1', 'text 1', 'text 1', 'close 1', 'finish', 'end'],
  )
  t.same(answerOf(out), answerOf(events))
})

t.test('an answer and its events are the same, and a stream without its end is no answer', async t => {
  const answer = {
    id: 'x',
    model: 'm',
    parts: [
      { kind: 'thought', form: 'full', text: 'hm', seal: { issuer: 'i', value: 'v' } },
      { kind: 'text', text: 'hello' },
      { kind: 'call', id: 'c', name: 'f', arguments: '{}' },
    ],
    stop: { why: 'calls' },
    usage: { input: 3, output: 4 },
  } as const
  t.same(answerOf(eventsOf(answer)), answer)
  t.throws(() => answerOf(eventsOf(answer).slice(0, -1)), { message: /before its last event/ })
})

t.test('names and ids that a format refuses are replaced, the same for calls and results', async t => {
  const { conversation, names } = withSafeNames({
    turns: [
      { role: 'assistant', parts: [{ kind: 'call', id: 'functions.Bash:0', name: 'mcp.find file', arguments: '{}' }] },
      { role: 'user', parts: [{ kind: 'result', id: 'functions.Bash:0', name: 'mcp.find file', parts: [] }] },
    ],
    tools: [
      { name: 'mcp.find file', strict: false },
      { name: 'fine', strict: false },
    ],
    toolChoice: { kind: 'tool', name: 'mcp.find file' },
    sampling: {},
    stream: false,
    streamUsage: false,
    losses: [],
  })
  const [sent = ''] = names.keys()
  t.match(sent, /^[A-Za-z0-9_-]{1,64}$/)
  t.same([...names.values()], ['mcp.find file'])
  t.same(
    conversation.tools.map(tool => tool.name),
    [sent, 'fine'],
  )
  t.same(conversation.toolChoice, { kind: 'tool', name: sent })
  const [call, result] = conversation.turns.flatMap(turn => turn.parts)
  t.match(call, { id: safeCallId('functions.Bash:0'), name: sent })
  t.match(result, { id: safeCallId('functions.Bash:0'), name: sent })
  t.not(safeCallId('functions.Bash:0'), safeCallId('functions.Bash_0'))
})

t.test('efforts and budgets are converted, and a model gets an effort that it accepts', async t => {
  t.equal(effortOf({ budget: 0 }), 'none')
  t.equal(effortOf({ budget: 4096 }), 'high')
  t.equal(effortOf({ budget: 'auto' }), undefined)
  t.equal(nearestEffort('max', ['low', 'high']), 'high')
  t.equal(nearestEffort('minimal', ['low', 'high']), 'low')
})

t.test('arguments of past calls stay objects', async t => {
  const call = { id: 'c', type: 'function', function: { name: 'look', arguments: { city: 'Paris' } } }
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'warm' },
  ]
  for (const to of ['responses', 'messages', 'generate'] as const)
    t.match(
      JSON.stringify(translateRequest('chat', { messages }, to).body).replaceAll('\\', ''),
      '{"city":"Paris"}',
      to,
    )
})

t.test('empty fields are omitted if the vendor refuses them', async t => {
  const user = (content: string): JsonObject => ({ role: 'user', content })
  const empties = ['', '  ', null, []].map(content => ({ role: 'assistant', content }))
  for (const empty of empties) {
    const body = { messages: [{ role: 'system', content: '' }, user('a'), empty, user('b')] }
    const name = JSON.stringify(empty.content)
    const messages = translateRequest('chat', body, 'messages').body
    const content = ['a', 'b'].map(text => ({ type: 'text', text }))
    t.same([messages['system'], messages['messages']], [undefined, [{ role: 'user', content }]], `messages: ${name}`)
    const generate = translateRequest('chat', body, 'generate').body
    t.equal(generate['systemInstruction'], undefined, `generate: ${name}`)
    t.notMatch(JSON.stringify(generate), '"parts":[]', `generate: ${name}`)
  }
  const thought = { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'of another model' }] }
  const { body } = translateRequest(
    'messages',
    { max_tokens: 9, messages: [user('a'), thought, user('b')] },
    'generate',
  )
  t.same(
    body['contents'],
    ['a', 'b'].map(text => ({ role: 'user', parts: [{ text }] })),
    'a thought of another model',
  )
})

t.test('a value of another type is refused with its field, because the vendor would not get it', async t => {
  const user = { role: 'user', content: 'x' }
  const requests: { readonly [format in Format]: JsonObject } = {
    chat: { messages: [user] },
    responses: { input: [user] },
    messages: { max_tokens: 9, messages: [user] },
    generate: { contents: [{ parts: [{ text: 'x' }] }] },
  }
  const cases: readonly (readonly [format: Format, more: JsonObject, field: string])[] = [
    ['chat', { max_completion_tokens: '5' }, 'max_completion_tokens'],
    ['chat', { n: '2' }, 'n'],
    ['chat', { logprobs: 1 }, 'logprobs'],
    ['chat', { stop: 5 }, 'stop'],
    ['chat', { tools: {} }, 'tools'],
    ['chat', { response_format: 'json' }, 'response_format'],
    ['chat', { reasoning_effort: 'enormous' }, 'reasoning_effort'],
    ['chat', { messages: [{ role: 'user', content: [{ type: 'text', text: 5 }] }] }, 'messages[0].content[0].text'],
    ['responses', { max_output_tokens: '5' }, 'max_output_tokens'],
    ['responses', { instructions: ['x'] }, 'instructions'],
    ['responses', { input: [{ role: 'user', content: { text: 'x' } }] }, 'input[0].content'],
    ['responses', { input: [{ type: 'function_call_output', call_id: 'a', output: {} }] }, 'input[0].output'],
    ['responses', { input: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: {} }] }, 'input[0].arguments'],
    ['messages', { max_tokens: '5' }, 'max_tokens'],
    ['messages', { tool_choice: 'any' }, 'tool_choice'],
    ['messages', { stop_sequences: 'x' }, 'stop_sequences'],
    ['messages', { output_config: { effort: 'enormous' } }, 'output_config.effort'],
    ['generate', { generationConfig: { maxOutputTokens: 'many' } }, 'generationConfig.maxOutputTokens'],
    ['generate', { generationConfig: { stopSequences: 'x' } }, 'generationConfig.stopSequences'],
    [
      'generate',
      { generationConfig: { thinkingConfig: { thinkingBudget: {} } } },
      'generationConfig.thinkingConfig.thinkingBudget',
    ],
  ]
  for (const [format, more, field] of cases)
    t.throws(
      () => translateRequest(format, { ...requests[format], ...more }, format === 'chat' ? 'messages' : 'chat'),
      Object.assign(new RequestFault(field, ''), { message: /./ }) as Error,
      caseName({ format, more }),
    )
  const none = { max_tokens: null, tools: null, stop: null, response_format: null, tool_choice: null }
  t.match(translateRequest('chat', { ...requests.chat, ...none }, 'generate').body, { contents: [{ role: 'user' }] })
})

t.test('numbers that a client of generate writes as texts are read', async t => {
  const generationConfig = { maxOutputTokens: '100', temperature: '0.5', thinkingConfig: { thinkingBudget: '0' } }
  const request = { contents: [{ parts: [{ text: 'x' }] }], generationConfig }
  t.match(translateRequest('generate', request, 'chat').body, { max_completion_tokens: 100, temperature: 0.5 })
  t.same(translateRequest('generate', request, 'chat').conversation.reasoning, { budget: 0 })
})

t.test('a choice among several tools offers no other tool, whatever the kind of the tools', async t => {
  const messages = [{ role: 'user', content: 'x' }]
  const tools = [
    ...['one', 'two'].map(name => ({ type: 'function', function: { name } })),
    { type: 'custom', custom: { name: 'three' } },
  ]
  const allowed = [
    { type: 'function', function: { name: 'one' } },
    { type: 'custom', custom: { name: 'three' } },
  ]
  for (const mode of ['auto', 'required'])
    for (const to of ['responses', 'messages', 'generate'] as const) {
      const tool_choice = { type: 'allowed_tools', allowed_tools: { mode, tools: allowed } }
      const { body } = translateRequest('chat', { messages, tools, tool_choice }, to)
      const text = JSON.stringify(to === 'messages' ? body['tools'] : (body['toolConfig'] ?? body['tool_choice']))
      const limits = to === 'generate' && mode === 'auto' ? JSON.stringify(body['tools']) : text
      t.same(
        ['one', 'two', 'three'].filter(name => limits.includes(`"${name}"`)),
        ['one', 'three'],
        caseName({ mode, to }),
      )
    }
})

t.test('the id of an end user is no longer than the vendor accepts', async t => {
  const user_id = `user_${'a'.repeat(64)}_account__session_${'b'.repeat(36)}`
  const request = { max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }
  const userOf = (to: 'chat' | 'responses', id: string): unknown => {
    const { body } = translateRequest('messages', { ...request, metadata: { user_id: id } }, to)
    return to === 'chat' ? body['user'] : body['safety_identifier']
  }
  for (const to of ['chat', 'responses'] as const) {
    t.match(userOf(to, user_id), /^[0-9a-f]{64}$/, to)
    t.equal(userOf(to, user_id), userOf(to, user_id), `${to}: the same user has the same id`)
    t.equal(userOf(to, 'alice'), 'alice', `${to}: a short id`)
  }
})

t.test('the usual wrong name of a JPEG image is read', async t => {
  const image_url = { url: 'data:image/jpg;base64,AAAA' }
  const request = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }] }
  const { body, refused } = translateRequest('chat', request, 'messages')
  t.same(refused, [])
  t.match(body, { messages: [{ content: [{ source: { media_type: 'image/jpeg', data: 'AAAA' } }] }] })
})
