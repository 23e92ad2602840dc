import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import t from 'tap'
import { chat } from '../../plugins/format-bridge/chat/index.ts'
import { generate } from '../../plugins/format-bridge/generate/index.ts'
import { messages } from '../../plugins/format-bridge/messages/index.ts'
import {
  type Adapter,
  type Answer,
  type AnswerEvent,
  answerOf,
  type Conversation,
  createSequencer,
  eventsOf,
  type Part,
  type StreamRecord,
  type Turn,
  type UpstreamFacts,
  type WriteFacts,
} from '../../plugins/format-bridge/neutral/index.ts'
import { responses } from '../../plugins/format-bridge/responses/index.ts'

/** Prints the smallest input that fails. */
function check<Input>(
  t: { doesNotThrow: (fn: () => void) => unknown },
  property: fc.IProperty<Input>,
  numRuns: number,
): void {
  t.doesNotThrow(() => fc.assert(property, { numRuns }))
}

const adapters: readonly Adapter[] = [chat, messages, responses, generate]

const to: UpstreamFacts = {
  model: 'm',
  issuer: 'up',
  maxTokens: 4096,
  reasoning: 'none',
  efforts: ['low', 'medium', 'high'],
  sampling: true,
  limitField: 'max_completion_tokens',
  links: true,
}

/** Texts with characters of every length, quotes and line ends; never blank, because formats omit blank texts. */
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).map(one => `t${one}`)
const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,12}$/)
const json = fc.dictionary(name, fc.oneof(text, fc.integer(), fc.boolean(), fc.array(text, { maxLength: 2 })))
const image: fc.Arbitrary<Part> = fc.base64String({ minLength: 4, maxLength: 24 }).map(base64 => ({
  kind: 'media',
  media: 'image',
  mime: 'image/png',
  source: { kind: 'bytes', base64 },
}))
const textPart: fc.Arbitrary<Part> = text.map(one => ({ kind: 'text', text: one }))

/** A step of a conversation that every format supports: a question, or calls and their results. */
const step = fc.oneof(
  fc.record({ ask: fc.tuple(textPart, fc.option(image, { nil: undefined })), answer: text }),
  fc.record({ say: text, calls: fc.array(fc.tuple(name, json, text, fc.boolean()), { minLength: 1, maxLength: 3 }) }),
)

const conversation: fc.Arbitrary<Conversation> = fc
  .record({
    system: fc.option(text, { nil: undefined }),
    first: text,
    steps: fc.array(step, { maxLength: 4 }),
    last: text,
    tools: fc.uniqueArray(name, { maxLength: 3 }),
    maxTokens: fc.integer({ min: 1, max: 4096 }),
    temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
    choice: fc.constantFrom('auto', 'none', 'required'),
  })
  .map(({ system, first, steps, last, tools, maxTokens, temperature, choice }) => ({
    turns: turnsOf({ system, first, steps, last }),
    tools: tools.map(tool => ({
      name: tool,
      strict: false,
      description: `Does ${tool}.`,
      schema: { type: 'object', properties: { [tool]: { type: 'string' } } },
    })),
    ...(tools.length > 0 && { toolChoice: { kind: choice } as const }),
    maxTokens,
    sampling: temperature === undefined ? {} : { temperature },
    stream: false,
    streamUsage: false,
    losses: [],
  }))

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

function turnsOf(from: {
  readonly system: string | undefined
  readonly first: string
  readonly steps: readonly Step[]
  readonly last: string
}): readonly Turn[] {
  const own = (role: Turn['role'], ...parts: readonly Part[]): Turn => ({ role, parts })
  const words = (one: string): Part => ({ kind: 'text', text: one })
  let calls = 0
  const turns = from.steps.flatMap((one): readonly Turn[] => {
    if ('ask' in one)
      return [own('user', ...one.ask.filter(part => part !== undefined)), own('assistant', words(one.answer))]
    const made = one.calls.map(call => [`call_${calls++}`, ...call] as const)
    return [
      own(
        'assistant',
        words(one.say),
        ...made.map(([id, tool, args]): Part => ({ kind: 'call', id, name: tool, arguments: JSON.stringify(args) })),
      ),
      own(
        'user',
        ...made.map(
          ([id, tool, , result, failed]): Part => ({
            kind: 'result',
            id,
            name: tool,
            parts: [{ kind: 'text', text: result }],
            ...(failed && { failed }),
          }),
        ),
      ),
    ]
  })
  const rest = [own('user', words(from.first)), ...turns, own('user', words(from.last))]
  return from.system === undefined ? rest : [own('system', words(from.system)), ...rest]
}

/**
 * The part of a conversation that every format keeps: three of them omit the tool's name in a result, two mark a failed
 * result in its text, adjacent turns of one role may merge, and chat has one text for an answer.
 */
function comparable({ turns, tools, toolChoice, maxTokens, sampling }: Conversation) {
  const merged: { role: string; parts: Plain[] }[] = []
  for (const { role, parts } of turns) {
    const own = parts.map((part): Plain => {
      if (part.kind !== 'result') return part
      const texts = part.parts.map(one => (one.kind === 'text' ? one.text : '')).join('')
      return { kind: 'result', id: part.id, text: part.failed ? `Error: ${texts}` : texts }
    })
    const last = merged.at(-1)
    if (last?.role === role) last.parts.push(...own)
    else merged.push({ role, parts: [...own] })
  }
  return {
    turns: merged.map(({ role, parts }) => ({ role, parts: joined(parts) })),
    tools,
    toolChoice,
    maxTokens,
    sampling,
  }
}

type Plain = Exclude<Part, { kind: 'result' }> | { readonly kind: 'result'; readonly id: string; readonly text: string }

function joined(parts: readonly Plain[]): readonly Plain[] {
  return parts.reduce<Plain[]>((all, part) => {
    const last = all.at(-1)
    if (last?.kind !== 'text' || part.kind !== 'text') return [...all, part]
    return [...all.slice(0, -1), { ...last, text: last.text + part.text }]
  }, [])
}

const through = (adapter: Adapter, one: Conversation): Conversation => {
  const { body, losses } = adapter.writeRequest(one, to)
  if (losses.length > 0)
    throw new Error(`${adapter.operation} loses ${losses.map(({ feature }) => feature).join(', ')}`)
  const parsed = adapter.parseRequest({ body, stream: false, issuer: 'up' })
  if (parsed.losses.length > 0)
    throw new Error(`${adapter.operation} does not read ${parsed.losses.map(({ field }) => field).join(', ')}`)
  return parsed
}

for (const from of adapters)
  for (const via of adapters.filter(one => one !== from))
    t.test(`a conversation survives ${from.operation} → ${via.operation} → ${from.operation}`, async t => {
      check(
        t,
        fc.property(conversation, one => {
          const translated = through(from, one)
          assert.deepEqual(comparable(through(from, through(via, translated))), comparable(one))
        }),
        25,
      )
    })

const answer: fc.Arbitrary<Answer> = fc
  .record({
    thought: fc.option(text, { nil: undefined }),
    said: fc.option(text, { nil: undefined }),
    calls: fc.array(fc.tuple(name, json), { maxLength: 3 }),
    cut: fc.boolean(),
    input: fc.nat({ max: 1_000_000 }),
    output: fc.nat({ max: 1_000_000 }),
    cached: fc.nat({ max: 1_000_000 }),
  })
  .map(({ thought, said, calls, cut, input, output, cached }) => ({
    parts: [
      ...(thought === undefined ? [] : [{ kind: 'thought', form: 'full', text: thought } as const]),
      ...(said === undefined ? [] : [{ kind: 'text', text: said } as const]),
      ...calls.map(
        ([tool, args], i) => ({ kind: 'call', id: `call_${i}`, name: tool, arguments: JSON.stringify(args) }) as const,
      ),
    ],
    stop: { why: cut ? 'length' : calls.length > 0 ? 'calls' : 'end' },
    usage: { input: input + cached, output, cacheRead: cached },
  }))

const facts: WriteFacts = {
  id: 'x1',
  created: 1,
  model: 'm',
  request: { turns: [], tools: [], sampling: {}, stream: true, streamUsage: true, losses: [] },
  inputEstimate: 9,
  form: 'events',
}
const parse = { issuer: 'up', id: 'x1' }

function recordsOf(stream: string): readonly StreamRecord[] {
  return stream
    .split('\n\n')
    .filter(Boolean)
    .map(block => {
      const data = block.slice(block.indexOf('data: ') + 'data: '.length)
      return { event: /^event: (.*)/.exec(block)?.[1] ?? '', data }
    })
}

function readAll(adapter: Adapter, records: readonly StreamRecord[]): readonly AnswerEvent[] {
  const parser = adapter.createStreamParser(parse)
  return [...records.flatMap(record => parser.read(record)), ...parser.end()]
}

function write(adapter: Adapter, events: readonly AnswerEvent[]): string {
  const writer = adapter.createStreamWriter(facts)
  const sequence = createSequencer()
  return events
    .flatMap(event => sequence(event))
    .map(event => writer.write(event))
    .join('')
}

/** The part of an answer that every format keeps: without seals, and with the counts that are not zero. */
function plain({ parts, stop, usage }: Answer) {
  return {
    parts: parts.map(part =>
      part.kind === 'thought' ? { kind: part.kind, text: part.text } : { ...part, seal: undefined },
    ),
    why: stop.why,
    usage: Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value > 0)),
  }
}

for (const up of adapters)
  for (const down of adapters)
    t.test(`an answer of ${up.operation} is the same for a client of ${down.operation}, streamed or not`, async t => {
      check(
        t,
        fc.property(answer, one => {
          const whole = up.parseAnswer(up.writeAnswer(one, facts), parse)
          const streamed = readAll(up, recordsOf(write(up, eventsOf(one))))
          assert.deepEqual(plain(whole), plain(one))
          assert.deepEqual(plain(answerOf(streamed)), plain(one))
          assert.deepEqual(plain(down.parseAnswer(down.writeAnswer(whole, facts), parse)), plain(one))
          assert.deepEqual(plain(answerOf(readAll(down, recordsOf(write(down, streamed))))), plain(one))
        }),
        15,
      )
    })

for (const up of adapters)
  t.test(`a stream of ${up.operation} that is cut anywhere is an error`, async t => {
    check(
      t,
      fc.property(answer, fc.nat(), (one, at) => {
        const stream = write(up, eventsOf(one))
        // Chat completions are complete without [DONE], and generate with its last record.
        const whole = recordsOf(up === chat ? stream.replace('data: [DONE]\n\n', '') : stream)
        const events = readAll(up, whole.slice(0, at % whole.length))
        assert.equal(events.at(-1)?.kind, 'error')
        assert.ok(!events.some(({ kind }) => kind === 'end'))
      }),
      40,
    )
  })
