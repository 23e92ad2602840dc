import t from 'tap'
import { answerOf, type JsonObject, unpackSeal } from '../../plugins/format-bridge/neutral/index.ts'
import { caseName } from '../harness/case-name.ts'
import {
  adapter,
  type Format,
  formats,
  readRecords,
  recordsOf,
  translateRequest,
  upstreamFacts,
} from '../harness/translating.ts'
import { vendorAnswers, vendorStream } from '../harness/vendor-answers.ts'

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const data = 'iVBORw0KGgo='

/**
 * Requests with every feature of a format that its upstream accepts. Other files have those of the other two formats.
 */
const requests: { readonly [format in Format]?: JsonObject } = {
  chat: {
    model: 'vendor-model',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
        ],
      },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"city":"Paris"}' } },
          { id: 'call_2', type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'a tree' },
      { role: 'tool', tool_call_id: 'call_2', content: 'too dark' },
      { role: 'user', content: 'And now?' },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: schema, strict: true } }],
    tool_choice: { type: 'function', function: { name: 'look' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
    reasoning_effort: 'high',
    max_completion_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    seed: 7,
    presence_penalty: 0.1,
    frequency_penalty: 0.2,
    logit_bias: { 7: 1 },
    stop: ['END'],
    logprobs: true,
    top_logprobs: 2,
    service_tier: 'flex',
    user: 'ada',
  },
  messages: {
    model: 'vendor-model',
    max_tokens: 5000,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data }, title: 'a.pdf' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I look.', signature: 'c2Vh' },
          { type: 'text', text: 'Looking.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { city: 'Paris' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'text', text: 'too dark' }],
            is_error: true,
          },
          { type: 'text', text: 'And now?' },
        ],
      },
    ],
    tools: [{ name: 'look', description: 'Looks.', input_schema: schema, strict: true }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    stop_sequences: ['END'],
    thinking: { type: 'enabled', budget_tokens: 2048 },
    metadata: { user_id: 'ada' },
  },
}

for (const [format, body] of Object.entries(requests) as [Format, JsonObject][])
  t.test(`a request in ${format} is unchanged by a round trip through the neutral form`, async t => {
    const conversation = adapter(format).parseRequest({ body, stream: false, issuer: 'up' })
    t.same(conversation.losses, [])
    const reasoning = format === 'messages' ? 'budget' : 'effort'
    const written = adapter(format).writeRequest(conversation, { ...upstreamFacts, reasoning })
    t.same(written.losses, [])
    t.same(written.body, body)
  })

const parseFacts = { issuer: 'up', id: 'x1' }
const writeFacts = {
  id: 'x1',
  created: 1,
  model: 'vendor-model',
  request: { turns: [], tools: [], sampling: {}, stream: true, streamUsage: true, losses: [] },
  inputEstimate: 1,
  form: 'events',
} as const

/** Removes what the gateway generates anew: ids, the vendor's own members, packed seals, and counts of 0 for none. */
function comparable(answer: ReturnType<typeof answerOf>): unknown {
  const { parts, stop, usage = {} } = answer
  const opened = parts.map(part =>
    'seal' in part && part.seal ? { ...part, seal: unpackSeal(part.seal.value, part.seal.issuer) } : part,
  )
  const counts = Object.entries(usage).filter(([, count]) => count !== 0)
  return JSON.parse(JSON.stringify({ parts: opened, why: stop.why, usage: Object.fromEntries(counts) })) as unknown
}

for (const format of formats)
  for (const step of ['calls', 'final'] as const) {
    const { whole, records } = vendorAnswers[format][step]
    t.test(`the recorded answer of ${format} (${step}) is the same after the neutral one`, async t => {
      const own = adapter(format)
      const answer = own.parseAnswer(whole as JsonObject, parseFacts)
      const again = own.parseAnswer(own.writeAnswer(answer, writeFacts), parseFacts)
      t.same(comparable(again), comparable(answer), caseName({ format, step, form: 'whole' }))

      const events = readRecords(
        format,
        recordsOf(vendorStream(format, records)).map(({ data }) => data),
      )
      const writer = own.createStreamWriter(writeFacts)
      const text = events.map(event => writer.write(event)).join('')
      const written = readRecords(
        format,
        recordsOf(text).map(record => record.data),
      )
      t.same(comparable(answerOf(written)), comparable(answerOf(events)), caseName({ format, step, form: 'stream' }))
    })
  }

t.test('a request to include the state of thoughts does not turn reasoning on', t => {
  const body: JsonObject = { model: 'm', input: 'hi', include: ['reasoning.encrypted_content'], store: false }
  for (const reasoning of ['budget', 'adaptive', 'effort', 'none'] as const) {
    const sent = translateRequest('responses', body, 'messages', { facts: { reasoning } })
    t.same([sent.body['thinking'], sent.dropped], [undefined, []], caseName({ reasoning }))
    const request = { ...body, reasoning: { effort: 'low' } }
    const thinks = translateRequest('responses', request, 'messages', { facts: { reasoning } }).body['thinking']
    t.equal(thinks !== undefined, reasoning === 'budget' || reasoning === 'adaptive', caseName({ reasoning }))
  }
  t.end()
})
