import * as fc from 'fast-check'
import { cuts } from '../fuzzer.ts'

export type Style = 'chat' | 'responses' | 'messages' | 'generate'
export type UsageCase = {
  readonly style: Style
  readonly stream: boolean
  readonly body: string
  readonly cuts: readonly number[]
}

// The request and the answer of every case are long enough for every count below.
export const long = 'so long a text that the counts which follow are no more than it can carry, '.repeat(60)
const countMax = 900

const count = fc.integer({ min: 0, max: countMax })
const words = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '"usage":{"prompt_tokens":7,"completion_tokens":7}',
      '{"usage":{"input_tokens":9}}',
      '\n\ndata: {"usage":{"prompt_tokens":8}}\n\n',
      '\\',
      '"',
      '\\"',
      '\u2028',
      '```js\nconst a = "b"\n```',
      '船在海上',
      '[DONE]',
      '"usageMetadata":{"promptTokenCount":5}',
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('a', '"', '\\', '\n', '船', '\t'), fc.integer({ min: 1, max: 20_000 }))
      .map(([unit, times]) => unit.repeat(times)),
  },
)
/** Members without meaning for usage, some with usage names in positions where they mean nothing. */
const otherMembers = fc.dictionary(
  fc.constantFrom('id', 'x', 'system_fingerprint', 'metadata', 'tools', 'note'),
  fc.oneof(
    words,
    fc.integer(),
    fc.constant(null),
    fc.constant([]),
    fc.record({ usage: fc.record({ prompt_tokens: count, input_tokens: count }) }),
  ),
  { maxKeys: 3 },
)

type Counts = { readonly input: number; readonly cached: number; readonly output: number; readonly thought: number }
const counts: fc.Arbitrary<Counts> = fc
  .record({ input: count, cached: count, output: count, thought: count })
  .map(one => ({ ...one, cached: Math.min(one.cached, one.input), thought: Math.min(one.thought, one.output) }))

/** Usage as a vendor of each style reports it. */
const usages: { readonly [style in Style]: (counts: Counts, all: boolean) => object } = {
  chat: ({ input, cached, output, thought }, all) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(all && {
      prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: thought },
    }),
  }),
  responses: ({ input, cached, output, thought }, all) => ({
    input_tokens: input,
    ...(all && { input_tokens_details: { cached_tokens: cached } }),
    output_tokens: output,
    ...(all && { output_tokens_details: { reasoning_tokens: thought } }),
    total_tokens: input + output,
  }),
  messages: ({ input, cached, output }, all) => ({
    input_tokens: input,
    ...(all && { cache_creation_input_tokens: 0, cache_read_input_tokens: cached }),
    output_tokens: output,
  }),
  generate: ({ input, cached, output, thought }, all) => ({
    promptTokenCount: input,
    candidatesTokenCount: output,
    ...(all && { cachedContentTokenCount: cached, thoughtsTokenCount: thought }),
    totalTokenCount: input + output + (all ? thought : 0),
  }),
}

const answers: { readonly [style in Style]: (text: string, usage: object | null) => object } = {
  chat: (text, usage) => ({
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    ...(usage && { usage }),
  }),
  responses: (text, usage) => ({
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text }] }],
    ...(usage && { usage }),
  }),
  messages: (text, usage) => ({
    type: 'message',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    ...(usage && { usage }),
  }),
  generate: (text, usage) => ({
    candidates: [{ content: { parts: [{ text }], role: 'model' }, finishReason: 'STOP' }],
    ...(usage && { usageMetadata: usage }),
  }),
}

/** Events of a stream: texts, then the usage, in the position of each style. */
const streams: {
  readonly [style in Style]: (texts: readonly string[], usage: object, early: object) => readonly object[]
} = {
  chat: (texts, usage) => [
    ...texts.map(content => ({
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content } }],
      usage: null,
    })),
    { object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { object: 'chat.completion.chunk', choices: [], usage },
  ],
  responses: (texts, usage) => [
    { type: 'response.created', response: { status: 'in_progress', usage: null } },
    ...texts.map(delta => ({ type: 'response.output_text.delta', delta })),
    { type: 'response.completed', response: answers.responses(texts.join(''), usage) },
  ],
  messages: (texts, usage, early) => [
    { type: 'message_start', message: { type: 'message', content: [], usage: early } },
    ...texts.map(text => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ],
  generate: (texts, usage, early) => [
    ...texts.map(text => ({ candidates: [{ content: { parts: [{ text }] } }], usageMetadata: early })),
    { candidates: [{ content: { parts: [{ text: '' }] }, finishReason: 'STOP' }], usageMetadata: usage },
  ],
}

const shuffled = (one: object, turn: number): object => {
  const entries = Object.entries(one)
  const at = turn % Math.max(entries.length, 1)
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)])
}

const style = fc.constantFrom<Style>('chat', 'responses', 'messages', 'generate')
export const wholeAnswers = fc
  .tuple(
    style,
    words,
    fc.option(counts, { freq: 12 }),
    fc.boolean(),
    otherMembers,
    fc.nat(6),
    fc.constantFrom(0, 0, 2),
    cuts,
  )
  .map(([kind, text, used, all, more, turn, indent, lengths]): UsageCase => {
    const answer = answers[kind](long + text, used && usages[kind](used, all))
    return {
      style: kind,
      stream: false,
      body: JSON.stringify(shuffled({ ...more, ...answer }, turn), null, indent),
      cuts: lengths,
    }
  })
export const streamedAnswers = fc
  .tuple(
    style,
    fc.array(words, { maxLength: 4 }),
    fc.tuple(counts, counts, fc.boolean()),
    fc.tuple(otherMembers, fc.nat(6)),
    fc.constantFrom('\n', '\r\n', '\r'),
    fc.record({
      named: fc.boolean(),
      alive: fc.boolean(),
      lines: fc.boolean(),
      close: fc.constantFrom('data: ', 'data:'),
    }),
    cuts,
  )
  .map(([kind, texts, [used, before, all], [more, turn], end, how, lengths]): UsageCase => {
    const early = usages[kind]({ ...before, output: 1, thought: 0 }, false)
    const events = streams[kind]([long, ...texts], usages[kind](used, all), early)
    const write = (event: object): string => {
      const text = JSON.stringify(shuffled({ ...more, ...event }, turn), null, how.lines ? 1 : 0)
      const name = 'type' in event && how.named ? `event: ${String(event.type)}${end}` : ''
      const lines = text.split('\n').map(line => `${how.close}${line}${end}`)
      return `${name}${lines.join('')}${end}${how.alive ? `: alive${end}${end}` : ''}`
    }
    const last = kind === 'chat' ? `data: [DONE]${end}${end}` : ''
    return { style: kind, stream: true, body: events.map(write).join('') + last, cuts: lengths }
  })
