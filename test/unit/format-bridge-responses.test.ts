import OpenAI from 'openai'
import t from 'tap'
import { messages } from '../../plugins/format-bridge/messages/index.ts'
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
import { responses } from '../../plugins/format-bridge/responses/index.ts'

const to: UpstreamFacts = {
  model: 'up-model',
  issuer: 'up',
  maxTokens: 4096,
  reasoning: 'effort',
  efforts: ['low', 'medium', 'high'],
  sampling: true,
  limitField: 'max_output_tokens',
  links: true,
}
const facts = { issuer: 'up', id: 'x1' }
const parse = (body: JsonObject): Conversation => responses.parseRequest({ body, stream: false, issuer: 'up' })
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
  model: 'up-model',
  instructions: 'Be brief.',
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look at this.' }] },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I look.' }], encrypted_content: 'c2VhbA==' },
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Looking.', annotations: [] }],
    },
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":1.0}' },
    { type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: '*** Begin' },
    { type: 'function_call_output', call_id: 'call_1', output: 'a tree' },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Stay brief.' }] },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' },
        { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
      ],
    },
  ],
  tools: [
    {
      type: 'function',
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object', properties: { at: { type: 'number' } } },
      strict: false,
    },
    {
      type: 'custom',
      name: 'patch',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
    },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'custom', name: 'patch' }] },
  parallel_tool_calls: false,
  text: {
    format: { type: 'json_schema', name: 'out', schema: { type: 'object', properties: {} }, strict: false },
    verbosity: 'low',
  },
  reasoning: { effort: 'high', summary: 'auto' },
  max_output_tokens: 100,
  temperature: 0.5,
  top_p: 0.9,
  service_tier: 'flex',
  prompt_cache_key: 'k',
  safety_identifier: 'u',
  include: ['reasoning.encrypted_content'],
  store: false,
} satisfies JsonObject

t.test('a request in responses is unchanged by a round trip through the neutral form', async t => {
  const conversation = parse(full)
  t.same(lossesOf(conversation), [])
  const { body, losses } = responses.writeRequest(conversation, to)
  t.same(losses, [])
  t.same(body, full)
})

t.test('fields that responses cannot carry are named', async t => {
  const conversation = parse({
    model: 'm',
    input: [{ type: 'item_reference', id: 'x' }],
    previous_response_id: 'resp_1',
    background: true,
    store: true,
    metadata: { a: 'b' },
    truncation: 'auto',
    tools: [{ type: 'web_search' }],
  })
  t.same(lossesOf(conversation), [
    'state input[0]',
    'web_search tools[0]',
    'state previous_response_id',
    'metadata metadata',
    'state store',
    'state background',
    'unknown_field truncation',
  ])
  const written = responses.writeRequest(
    {
      ...parse({ input: 'x' }),
      stop: ['\n'],
      sampling: { seed: 1, topK: 2, presencePenalty: 1, logitBias: { 1: 2 } },
    },
    to,
  )
  t.same(written.losses.map(({ feature }) => feature).toSorted(), ['logit_bias', 'penalties', 'seed', 'stop', 'top_k'])
})

t.test('requests that cannot be read name the field', async t => {
  for (const [body, field] of [
    [{ input: 3 }, 'input'],
    [{ input: [3] }, 'input[0]'],
    [{ input: [{ role: 'robot', content: 'x' }] }, 'input[0].role'],
    [{ input: [{ type: 'function_call', name: 'f' }] }, 'input[0]'],
    [{ input: [{ type: 'function_call_output', output: 'x' }] }, 'input[0].call_id'],
    [{ input: 'x', reasoning: { effort: 'enormous' } }, 'reasoning.effort'],
    [{ input: 'x', text: { format: { type: 'json_schema' } } }, 'text.format.schema'],
  ] as const)
    t.equal(faultOf(body as unknown as JsonObject), field, JSON.stringify(body))
})

t.test('strict is always written, and is the default only for schemas that can be strict', async t => {
  const open = { type: 'object', properties: { a: { type: 'string' } } }
  const closed = { ...open, required: ['a'], additionalProperties: false }
  const { tools } = parse({
    input: 'x',
    tools: [
      { type: 'function', name: 'open', parameters: open },
      { type: 'function', name: 'closed', parameters: closed },
    ],
  })
  t.same(
    tools.map(({ strict }) => strict),
    [false, true],
  )
  const { body } = responses.writeRequest(parse({ input: 'x', tools: [{ type: 'function', name: 'f' }] }), to)
  t.match(body, { tools: [{ type: 'function', name: 'f', strict: false, parameters: { type: 'object' } }] })
})

t.test('a seal of another vendor does not reach this one', async t => {
  const foreign = packSeal({ issuer: 'other', value: 'secret' })
  const conversation = parse({
    input: [
      { role: 'user', content: 'x' },
      { type: 'reasoning', summary: [], encrypted_content: foreign },
      { role: 'user', content: 'y' },
    ],
  })
  const { body, losses } = responses.writeRequest(conversation, to)
  t.notMatch(JSON.stringify(body), /secret|tollgate-seal/)
  t.same(losses, [{ feature: 'thought' }])
  t.match(messages.writeRequest(conversation, { ...to, issuer: 'other', reasoning: 'none' }).body, {
    messages: [{ role: 'user' }, { role: 'assistant', content: [{ data: 'secret' }] }, { role: 'user' }],
  })
})

const answer: Answer = {
  parts: [
    { kind: 'thought', form: 'summary', text: 'I think.', seal: { issuer: 'other', value: 'v' } },
    {
      kind: 'text',
      text: 'Hello, 🌍',
      citations: [{ url: 'https://example.com', title: 'An example', from: 0, to: 5 }],
      logprobs: [{ token: 'Hello', logprob: -0.5, bytes: [72], top: [{ token: 'Hi', logprob: -1, bytes: [72] }] }],
    },
    { kind: 'call', id: 'call_a', name: 'look', arguments: '{"at":1}' },
    { kind: 'call', id: 'call_b', name: 'none', arguments: '' },
    { kind: 'call', id: 'call_c', name: 'patch', arguments: '*** Begin', freeform: true },
  ],
  stop: { why: 'calls' },
  usage: { input: 10, output: 20, cacheRead: 4, reasoning: 7 },
}

const writeFacts: WriteFacts = {
  id: 'x1',
  created: 1_700_000_000,
  model: 'my-model',
  request: parse({ input: 'x', tools: full.tools, reasoning: { effort: 'low' } }),
  inputEstimate: 9,
  form: 'events',
}

function streamOf(events: readonly AnswerEvent[]): string {
  const writer = responses.createStreamWriter(writeFacts)
  return events.map(event => writer.write(event)).join('')
}

function recordsOf(text: string): readonly StreamRecord[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map(block => ({ event: '', data: block.slice(block.indexOf('data: ') + 6) }))
}

function read(records: readonly StreamRecord[]): readonly AnswerEvent[] {
  const parser = responses.createStreamParser(facts)
  return [...records.flatMap(record => parser.read(record)), ...parser.end()]
}

t.test("the vendor's SDK assembles a stream to the whole answer", async t => {
  const text = streamOf(eventsOf(answer))
  const client = new OpenAI({
    apiKey: 'k',
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  })
  const kinds: string[] = []
  const stream = client.responses.stream({ model: 'my-model', input: 'x' })
  for await (const event of stream) kinds.push(event.type)
  const final = JSON.parse(JSON.stringify(await stream.finalResponse())) as JsonObject
  const whole = responses.writeAnswer(answer, writeFacts)
  t.match(final, { ...whole, output: whole['output'] })
  t.equal(final['output_text'], 'Hello, 🌍')
  t.equal(kinds.at(-1), 'response.completed')
  const sequence = recordsOf(text).map(({ data }) => (JSON.parse(data) as { sequence_number: number }).sequence_number)
  t.same(
    sequence,
    sequence.map((_, i) => i),
  )
})

t.test('refusals, limits and filters have separate finish reasons', async t => {
  for (const [why, parts, status, reason] of [
    ['length', [], 'incomplete', 'max_output_tokens'],
    ['refused', [], 'incomplete', 'content_filter'],
    ['refused', [{ kind: 'refusal', text: 'No.' }], 'completed', null],
    ['end', [{ kind: 'text', text: 'Yes.' }], 'completed', null],
  ] as const) {
    const own: Answer = { parts, stop: { why } }
    const whole = responses.writeAnswer(own, writeFacts)
    t.match(whole, { status, incomplete_details: reason === null ? null : { reason } }, `${why} ${status}`)
    t.equal(responses.parseAnswer(whole, facts).stop.why, why, `${why} ${status}`)
    t.equal(answerOf(read(recordsOf(streamOf(eventsOf(own))))).stop.why, why, `${why} ${status} as a stream`)
  }
})

t.test('a failed answer is an error', async t => {
  const failed = { output: [], status: 'failed', error: { code: 'server_error', message: 'It broke.' } }
  t.throws(() => responses.parseAnswer(failed, facts), { message: 'It broke.' })
  const record = { event: '', data: JSON.stringify({ type: 'response.failed', response: failed }) }
  t.match(read([record]), [{ kind: 'error', problem: { message: 'It broke.', code: 'server_error' } }])
  const plain = {
    event: 'error',
    data: JSON.stringify({ type: 'error', code: 'rate_limit_exceeded', message: 'Slow.' }),
  }
  t.match(read([plain]), [{ kind: 'error', problem: { status: 429, message: 'Slow.' } }])
})

t.test('a stream without its first event, or with a text only in its item, is complete', async t => {
  const message = { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }
  const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'So.' }], encrypted_content: 'x' }
  const last = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } }
  const streams: { readonly [name: string]: readonly JsonObject[] } = {
    'only the last event': [{ ...last, response: { ...last.response, output: [message] } }],
    'items only': [
      { type: 'response.output_item.done', output_index: 0, item: reasoning },
      { type: 'response.output_item.done', output_index: 1, item: message },
      last,
    ],
    'deltas and items': [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hi' },
      { type: 'response.output_item.done', output_index: 1, item: message },
      last,
    ],
  }
  for (const [name, records] of Object.entries(streams)) {
    const events = read(records.map(data => ({ event: '', data: JSON.stringify(data) })))
    t.same(events.filter(({ kind }) => kind === 'start').length, 1, name)
    t.equal(events[0]?.kind, 'start', name)
    t.same(
      answerOf(events).parts.filter(({ kind }) => kind === 'text'),
      [{ kind: 'text', text: 'Hi' }],
      name,
    )
  }
})

t.test('texts and arguments count once, whether the vendor repeats them or not', async t => {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"a":1}' }
  const message = { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'Hi' }] }
  const events: readonly JsonObject[] = [
    { type: 'response.created', response: { id: 'resp_1', model: 'v' } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'H' },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'i' },
    { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Hi' },
    { type: 'response.output_item.done', output_index: 0, item: message },
    { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '' } },
    { type: 'response.function_call_arguments.done', output_index: 1, arguments: '{"a":1}' },
    { type: 'response.output_item.done', output_index: 1, item: call },
    { type: 'response.output_item.done', output_index: 2, item: { ...call, call_id: 'call_2' } },
    { type: 'response.some_new_event', output_index: 3 },
    {
      type: 'response.completed',
      response: { status: 'completed', output: [], usage: { input_tokens: 3, output_tokens: 4 } },
    },
  ]
  const own = answerOf(read(events.map(data => ({ event: '', data: JSON.stringify(data) }))))
  t.same(own, {
    id: 'resp_1',
    model: 'v',
    parts: [
      { kind: 'text', text: 'Hi' },
      { kind: 'call', id: 'call_1', name: 'f', arguments: '{"a":1}' },
      { kind: 'call', id: 'call_2', name: 'f', arguments: '{"a":1}' },
    ],
    stop: { why: 'calls' },
    usage: { input: 3, output: 4 },
  })
})
