import t from 'tap'
import { chat } from '../../plugins/format-bridge/chat/index.ts'
import { generate } from '../../plugins/format-bridge/generate/index.ts'
import { messages } from '../../plugins/format-bridge/messages/index.ts'
import {
  type Adapter,
  type Answer,
  type AnswerEvent,
  answerOf,
  eventsOf,
  type JsonObject,
  type StreamRecord,
  type WriteFacts,
} from '../../plugins/format-bridge/neutral/index.ts'
import type { Json } from '../../src/plugin-api/index.ts'
import { readRecords } from '../harness/translating.ts'

const parse = { issuer: 'up', id: 'x1' }
const write: WriteFacts = {
  id: 'x1',
  created: 1,
  model: 'm',
  request: { turns: [], tools: [], sampling: {}, stream: true, streamUsage: true, losses: [] },
  inputEstimate: 9,
  form: 'events',
}
const adapters: readonly Adapter[] = [chat, messages]

const answers: { readonly [name: string]: Answer } = {
  text: {
    parts: [{ kind: 'text', text: 'Hello, 🌍' }],
    stop: { why: 'end' },
    usage: { input: 12, output: 3, cacheRead: 4 },
  },
  thought: {
    parts: [
      { kind: 'thought', form: 'full', text: 'two and two', seal: { issuer: 'up', value: 'text' } },
      { kind: 'text', text: 'four' },
    ],
    stop: { why: 'length' },
    usage: { input: 5, output: 9 },
  },
  calls: {
    parts: [
      { kind: 'text', text: 'I look.' },
      { kind: 'call', id: 'call_a', name: 'look', arguments: '{"at":"é"}' },
      { kind: 'call', id: 'call_b', name: 'look', arguments: '{}' },
    ],
    stop: { why: 'calls' },
    usage: { input: 5, output: 9 },
  },
}

function recordsOf(text: string): readonly StreamRecord[] {
  return text
    .split('\n\n')
    .filter(block => block !== '')
    .map(block => {
      const lines = block.split('\n')
      const value = (name: string): string =>
        lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
      return { event: value('event'), data: value('data') }
    })
}

function readAll(adapter: Adapter, records: readonly StreamRecord[]): readonly AnswerEvent[] {
  const parser = adapter.createStreamParser(parse)
  return [...records.flatMap(record => parser.read(record)), ...parser.end()]
}

/** Removes the vendor's own members and ids, which differ in each format. */
function comparable({ parts, stop, usage }: Answer) {
  const kept = Object.entries(usage ?? {}).filter(([, value]) => value > 0)
  return { parts: parts.map(part => ({ ...part, seal: undefined })), stop: stop.why, usage: Object.fromEntries(kept) }
}

for (const adapter of adapters) {
  for (const [name, answer] of Object.entries(answers)) {
    t.test(`a stream of ${adapter.operation} has the content of the complete answer: ${name}`, async t => {
      const writer = adapter.createStreamWriter(write)
      const text = eventsOf(answer)
        .map(event => writer.write(event))
        .join('')
      const streamed = answerOf(readAll(adapter, recordsOf(text)))
      const whole = adapter.parseAnswer(adapter.writeAnswer(answer, write), parse)
      t.same(comparable(streamed), comparable(answer))
      t.same(comparable(whole), comparable(answer))
    })

    t.test(`a stream of ${adapter.operation} that is cut is an error: ${name}`, async t => {
      const writer = adapter.createStreamWriter(write)
      const records = recordsOf(
        eventsOf(answer)
          .map(event => writer.write(event))
          .join(''),
      )
      // Chat completions are complete with finish and usage: some vendors omit [DONE].
      const complete = adapter === chat ? records.length - 1 : records.length
      for (let kept = 0; kept < complete; kept++) {
        const kinds = readAll(adapter, records.slice(0, kept)).map(event => event.kind)
        t.equal(kinds.at(-1), 'error', `${kept} of ${records.length} records`)
        t.notOk(kinds.includes('end'), `${kept} of ${records.length} records`)
      }
    })
  }
}

t.test('parallel calls of chat completions become consecutive blocks', async t => {
  const piece = (delta: object, finish: string | null = null): StreamRecord => ({
    event: '',
    data: JSON.stringify({ id: 'c', model: 'v', choices: [{ index: 0, delta, finish_reason: finish }] }),
  })
  const call = (index: number, id: string): object => ({
    tool_calls: [{ index, id, type: 'function', function: { name: 'f', arguments: '' } }],
  })
  const more = (index: number, text: string): object => ({ tool_calls: [{ index, function: { arguments: text } }] })
  const events = readAll(chat, [
    piece({ role: 'assistant', content: '' }),
    piece(call(0, 'a')),
    piece(call(1, 'b')),
    piece(more(1, '{"b"')),
    piece(more(0, '{"a":1}')),
    piece(more(1, ':2}')),
    piece({}, 'tool_calls'),
    { event: '', data: JSON.stringify({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 8 } }) },
    { event: '', data: '[DONE]' },
  ])
  const writer = messages.createStreamWriter(write)
  const records = recordsOf(events.map(event => writer.write(event)).join(''))
  const open: number[] = []
  for (const { data } of records) {
    const { type, index } = JSON.parse(data) as { type: string; index: number }
    if (type === 'content_block_start') open.push(index)
    if (type === 'content_block_stop') t.equal(open.pop(), index, `block ${index}`)
    t.ok(open.length <= 1, type)
  }
  t.match(answerOf(readAll(messages, records)), {
    parts: [
      { kind: 'call', id: 'a', arguments: '{"a":1}' },
      { kind: 'call', id: 'b', arguments: '{"b":2}' },
    ],
    stop: { why: 'calls' },
    usage: { input: 7, output: 8 },
  })
})

t.test(
  "calls of chat completions are read in vendors' variants: one index for all, or arguments as objects",
  async t => {
    const call = (id: string, given: Json): JsonObject => ({
      index: 0,
      id,
      type: 'function',
      function: { name: 'look', arguments: given },
    })
    const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
      choices: [{ index: 0, delta, finish_reason }],
    })
    const wanted = [1, 2].map(n => ({ kind: 'call', id: `call_${n}`, name: 'look', arguments: `{"n":${n}}` }))
    for (const [name, given] of [
      ['texts', ['{"n":1}', '{"n":2}']],
      ['objects', [{ n: 1 }, { n: 2 }]],
    ] as const) {
      const tool_calls = given.map((one, i) => call(`call_${i + 1}`, one))
      const chunks = tool_calls.map(one => chunk({ tool_calls: [one] }))
      t.match(
        answerOf(readRecords('chat', [...chunks, chunk({}, 'tool_calls'), '[DONE]'])).parts,
        wanted,
        `${name}, streamed`,
      )
      const whole = {
        choices: [{ message: { role: 'assistant', content: null, tool_calls }, finish_reason: 'tool_calls' }],
      }
      t.match(chat.parseAnswer(whole, { issuer: 'up', id: 'x' }).parts, wanted, `${name}, whole`)
    }
  },
)

t.test('a call that is cut at the token limit ends the answer with that reason, streamed or not', async t => {
  const cut: Answer = {
    parts: [
      { kind: 'text', text: 'I look.' },
      { kind: 'call', id: 'call_1', name: 'look', arguments: '{"city":"Pa' },
    ],
    stop: { why: 'length' },
    usage: { input: 3, output: 2 },
  }
  const facts: WriteFacts = { ...write, form: 'list' }
  t.match(messages.writeAnswer(cut, facts), {
    content: [{ type: 'text' }, { type: 'tool_use', name: 'look', input: {} }],
    stop_reason: 'max_tokens',
  })
  const wanted = { candidates: [{ content: { parts: [{ text: 'I look.' }] }, finishReason: 'MAX_TOKENS' }] }
  const whole = generate.writeAnswer(cut, facts)
  t.match(whole, wanted)
  t.notMatch(JSON.stringify(whole), 'functionCall')
  const written = (answer: Answer): string => {
    const writer = generate.createStreamWriter(facts)
    return eventsOf(answer)
      .map(event => writer.write(event))
      .join('')
  }
  t.match((JSON.parse(written(cut)) as JsonObject[]).at(-1), { candidates: [{ finishReason: 'MAX_TOKENS' }] })
  t.notMatch(written(cut), 'functionCall')
  t.throws(() => written({ ...cut, stop: { why: 'calls' } }), { message: /not a JSON object/ }, 'any other is wrong')
})
