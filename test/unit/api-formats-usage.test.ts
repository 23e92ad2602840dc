import t from 'tap'
import { mergeUsage } from '../../plugins/token-usage/merge-usage.ts'
import { apiFormats } from '../../src/api-formats/index.ts'
import type { Counts, Json, Usage } from '../../src/domain/index.ts'
import type { ApiFormat } from '../../src/plugin-api/index.ts'
import { caseName } from '../harness/case-name.ts'

function style(name: string): ApiFormat {
  const dialect = apiFormats.get(name)
  if (!dialect) throw new Error(`no ${name}`)
  return dialect
}

/** A usage report with these counts and no others. */
function usageOf(counts: Counts): Usage {
  return { counts, facts: {} }
}

type Row = { title: string; dialect: string; operation: string; body: Json; usage: Usage | null }

const answers: readonly Row[] = [
  {
    title: 'a chat',
    dialect: 'openai',
    operation: 'chat',
    body: {
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 60, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 40 },
      },
    },
    usage: usageOf({ input: 100, cached_input: 60, output: 50, reasoning: 40 }),
  },
  {
    title: 'a response',
    dialect: 'openai',
    operation: 'responses',
    body: {
      usage: {
        input_tokens: 7,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 10,
      },
    },
    usage: usageOf({ input: 7, cached_input: 0, output: 3, reasoning: 1 }),
  },
  {
    title: 'embeddings',
    dialect: 'openai',
    operation: 'embeddings',
    body: { usage: { prompt_tokens: 8, total_tokens: 8 } },
    usage: usageOf({ input: 8 }),
  },
  {
    title: 'a picture',
    dialect: 'openai',
    operation: 'image.generate',
    body: {
      usage: { total_tokens: 30, input_tokens: 10, output_tokens: 20, input_tokens_details: { text_tokens: 10 } },
    },
    usage: usageOf({ input: 10, output: 20 }),
  },
  {
    title: 'a transcript counted by tokens',
    dialect: 'openai',
    operation: 'audio.transcribe',
    body: {
      text: 'hi',
      usage: {
        type: 'tokens',
        input_tokens: 14,
        input_token_details: { text_tokens: 0, audio_tokens: 14 },
        output_tokens: 45,
        total_tokens: 59,
      },
    },
    usage: usageOf({ input: 14, output: 45, input_audio: 14 }),
  },
  {
    title: 'a transcript counted by time',
    dialect: 'openai',
    operation: 'audio.transcribe',
    body: { text: 'hi', usage: { type: 'duration', seconds: 9 } },
    usage: usageOf({ second: 9 }),
  },
  {
    title: 'a detailed transcript that tells its length alone',
    dialect: 'openai',
    operation: 'audio.transcribe',
    body: { text: 'hi', language: 'en', duration: 8.47 },
    usage: usageOf({ second: 8.47 }),
  },
  {
    title: 'a response that wrote to the cache for half an hour and for twelve',
    dialect: 'openai',
    operation: 'responses',
    body: {
      usage: {
        input_tokens: 100,
        input_tokens_details: {
          cached_tokens: 0,
          cache_write_tokens: 60,
          cache_write_tokens_details: { ttl_30m_tokens: 20, ttl_12h_tokens: 40 },
        },
        output_tokens: 5,
        total_tokens: 105,
      },
    },
    usage: usageOf({ input: 100, cached_input: 0, cache_write: 60, cache_write_1h: 40, output: 5 }),
  },
  {
    title: 'a reranker of the chat-completions style',
    dialect: 'openai',
    operation: 'rerank',
    body: { usage: { total_tokens: 15 } },
    usage: usageOf({ input: 15 }),
  },
  {
    title: 'a message',
    dialect: 'anthropic',
    operation: 'messages',
    body: {
      usage: { input_tokens: 10, cache_creation_input_tokens: 200, cache_read_input_tokens: 3000, output_tokens: 5 },
    },
    usage: usageOf({ input: 3210, cached_input: 3000, cache_write: 200, output: 5 }),
  },
  {
    title: 'a message without a cache',
    dialect: 'anthropic',
    operation: 'messages',
    body: { usage: { input_tokens: 10, cache_creation_input_tokens: null, output_tokens: 5 } },
    usage: usageOf({ input: 10, output: 5 }),
  },
  {
    title: 'a count of a message, which takes nothing itself',
    dialect: 'anthropic',
    operation: 'messages.count',
    body: { input_tokens: 2095 },
    usage: usageOf({ input: 0, output: 0 }),
  },
  {
    title: 'generated content',
    dialect: 'google',
    operation: 'generate',
    body: {
      usageMetadata: {
        promptTokenCount: 100,
        cachedContentTokenCount: 40,
        toolUsePromptTokenCount: 7,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 30,
        totalTokenCount: 157,
      },
    },
    usage: usageOf({ input: 107, cached_input: 40, output: 50, reasoning: 30 }),
  },
  {
    title: 'a refused prompt: zeros are left out in this style',
    dialect: 'google',
    operation: 'generate',
    body: { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } },
    usage: usageOf({ input: 9, output: 0 }),
  },
  {
    title: 'a generative-language stream as one list',
    dialect: 'google',
    operation: 'generate',
    body: [
      { usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1, totalTokenCount: 10 } },
      { usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 } },
    ],
    usage: usageOf({ input: 9, output: 4 }),
  },
  {
    title: 'a count of content, which takes nothing itself',
    dialect: 'google',
    operation: 'generate.count',
    body: { totalTokens: 31, cachedContentTokenCount: 3 },
    usage: usageOf({ input: 0, output: 0 }),
  },
  {
    title: 'content embedded',
    dialect: 'google',
    operation: 'generate.embed',
    body: { embeddings: [{ values: [0.1] }], usageMetadata: { promptTokenCount: 4 } },
    usage: usageOf({ input: 4 }),
  },
  {
    title: 'a ranking by search units',
    dialect: 'cohere',
    operation: 'rerank',
    body: { id: 'x', results: [], meta: { api_version: { version: '1' }, billed_units: { search_units: 1 } } },
    usage: usageOf({ search_unit: 1 }),
  },
  {
    title: 'a ranking by search units and tokens',
    dialect: 'cohere',
    operation: 'rerank',
    body: { results: [], meta: { billed_units: { search_units: 2 }, tokens: { input_tokens: 120, output_tokens: 0 } } },
    usage: usageOf({ search_unit: 2, input: 120, output: 0 }),
  },
  {
    title: 'a ranking by a total of tokens',
    dialect: 'cohere',
    operation: 'rerank',
    body: { model: 'm', usage: { total_tokens: 815 }, results: [] },
    usage: usageOf({ input: 815 }),
  },
  {
    title: 'a transcript with the time of each word',
    dialect: 'elevenlabs',
    operation: 'speech-to-text',
    body: { text: 'Hi', words: [{ text: 'Hi', type: 'word', start: 0, end: 1 }], audio_duration_secs: 2.5 },
    usage: usageOf({ second: 3 }),
  },
  {
    title: 'a ranking by tokens of its prompt',
    dialect: 'cohere',
    operation: 'rerank',
    body: { usage: { prompt_tokens: 800, completion_tokens: 0, total_tokens: 815 }, results: [] },
    usage: usageOf({ input: 800 }),
  },
]

t.test('usage is what the upstream reports', async t => {
  for (const { title, dialect, operation, body, usage } of answers) {
    t.strictSame(style(dialect).usageOf(operation, body), usage, title)
  }
})

t.test('missing or invalid usage is unknown, not 0', async t => {
  const operations = [
    'chat',
    'responses',
    'messages',
    'messages.count',
    'generate',
    'generate.count',
    'rerank',
    'audio.transcribe',
  ]
  const bodies: readonly Json[] = [
    null,
    [],
    {},
    'usage',
    { usage: null, usageMetadata: null, meta: null },
    { usage: {}, usageMetadata: {}, meta: { billed_units: {} } },
    { usage: [1], meta: [], usageMetadata: 7 },
    { usage: { input_tokens: '5', prompt_tokens: -1, completion_tokens: 1.5, output_tokens: null } },
    { usageMetadata: { promptTokenCount: 1e300 }, totalTokens: null, input_tokens: 'many' },
  ]
  for (const dialect of apiFormats.values())
    for (const operation of operations)
      for (const body of bodies) {
        t.equal(dialect.usageOf(operation, body), null, `${dialect.name} ${operation} ${JSON.stringify(body)}`)
        t.equal(dialect.usageOfEvent(operation, body), null, `${dialect.name} ${operation} ${JSON.stringify(body)}`)
      }
})

const streams: readonly { title: string; dialect: string; operation: string; events: readonly Json[]; usage: Usage }[] =
  [
    {
      title: 'a chat reports in its last chunk',
      dialect: 'openai',
      operation: 'chat',
      events: [
        { choices: [{ delta: { content: 'hi' } }], usage: null },
        { choices: [], usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 } },
      ],
      usage: usageOf({ input: 12, output: 3 }),
    },
    ...['completed', 'incomplete', 'failed'].map(end => ({
      title: `a response reports when it is ${end}`,
      dialect: 'openai',
      operation: 'responses',
      events: [
        { type: 'response.created', response: { usage: null } },
        { type: 'response.output_text.delta', delta: '"usage":{"input_tokens":99}' },
        {
          type: `response.${end}`,
          response: { usage: { input_tokens: 5, input_tokens_details: { cached_tokens: 2 }, output_tokens: 4 } },
        },
      ],
      usage: usageOf({ input: 5, cached_input: 2, output: 4 }),
    })),
    {
      title: 'a picture reports when it is complete',
      dialect: 'openai',
      operation: 'image.generate',
      events: [
        { type: 'image_generation.partial_image', b64_json: '' },
        { type: 'image_generation.completed', usage: { input_tokens: 5, output_tokens: 6, total_tokens: 11 } },
      ],
      usage: usageOf({ input: 5, output: 6 }),
    },
    {
      title: 'a transcript reports when its text is done',
      dialect: 'openai',
      operation: 'audio.transcribe',
      events: [
        { type: 'transcript.text.delta', delta: 'a' },
        { type: 'transcript.text.done', text: 'a', usage: { type: 'tokens', input_tokens: 2, output_tokens: 1 } },
      ],
      usage: usageOf({ input: 2, output: 1 }),
    },
    {
      title: 'a speech reports when its audio is done',
      dialect: 'openai',
      operation: 'audio.speech',
      events: [
        { type: 'speech.audio.delta', audio: '' },
        { type: 'speech.audio.done', usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 } },
      ],
      usage: usageOf({ input: 14, output: 101 }),
    },
    {
      title: 'a message reports its input first and its output last',
      dialect: 'anthropic',
      operation: 'messages',
      events: [
        {
          type: 'message_start',
          message: {
            usage: { input_tokens: 25, cache_creation_input_tokens: 5, cache_read_input_tokens: 70, output_tokens: 1 },
          },
        },
        { type: 'ping' },
        { type: 'message_delta', delta: {}, usage: { output_tokens: 9 } },
        {
          type: 'message_delta',
          delta: {},
          usage: { input_tokens: null, cache_read_input_tokens: null, output_tokens: 15 },
        },
        { type: 'message_stop' },
      ],
      usage: usageOf({ input: 100, cached_input: 70, cache_write: 5, output: 15 }),
    },
    {
      title: 'a message that reports all of it again at its end is counted once',
      dialect: 'anthropic',
      operation: 'messages',
      events: [
        { type: 'message_start', message: { usage: { input_tokens: 0, output_tokens: 0 } } },
        {
          type: 'message_delta',
          usage: { input_tokens: 30, cache_creation_input_tokens: 0, cache_read_input_tokens: 70, output_tokens: 15 },
        },
      ],
      usage: usageOf({ input: 100, cached_input: 70, output: 15 }),
    },
    {
      title: 'content reports in each chunk what was used so far',
      dialect: 'google',
      operation: 'generate',
      events: [
        { usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 } },
        { usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 2, thoughtsTokenCount: 5, totalTokenCount: 15 } },
        {
          candidates: [{ finishReason: 'STOP' }],
          usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 6, thoughtsTokenCount: 5, totalTokenCount: 19 },
        },
      ],
      usage: usageOf({ input: 8, output: 11, reasoning: 5 }),
    },
    {
      title: 'content that broke off before any output was counted leaves the output unknown',
      dialect: 'google',
      operation: 'generate',
      events: [{ candidates: [{}], usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 } }],
      usage: usageOf({ input: 8 }),
    },
    {
      title: 'a prompt that was refused has no output',
      dialect: 'google',
      operation: 'generate',
      events: [
        { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 } },
      ],
      usage: usageOf({ input: 8, output: 0 }),
    },
  ]

t.test('later reports of a stream replace earlier ones, member by member', async t => {
  for (const { title, dialect, operation, events, usage } of streams) {
    const reports = events.map(event => style(dialect).usageOfEvent(operation, event))
    const merged = reports.reduce((before, after) => mergeUsage(before, after), null)
    t.strictSame(merged?.counts, usage.counts, title)
  }
})

t.test('[6.3] an invalid count is no report; one that is too large is passed on for judgement', async t => {
  const body = (count: unknown): Json => ({ usage: { prompt_tokens: count as Json, completion_tokens: 1 } })
  for (const count of [1e9 + 1, Number.MAX_SAFE_INTEGER])
    t.strictSame(
      style('openai').usageOf('chat', body(count)),
      usageOf({ input: count, output: 1 }),
      caseName({ count }),
    )
  for (const count of [-1, 1.5, '12', null, true, Number.POSITIVE_INFINITY, Number.NaN, 1e300, [1], {}])
    t.strictSame(style('openai').usageOf('chat', body(count)), usageOf({ output: 1 }), typeof count)
  for (const duration of [-1, Number.POSITIVE_INFINITY, Number.NaN, '3'])
    t.equal(style('openai').usageOf('audio.transcribe', { duration }), null, String(duration))
})
