import type { Counts, Json, UsageFacts } from '../../src/domain/index.ts'

/** A usage object as a vendor reports it, and its counts. Parents include their children. */
export type UsageCounts = {
  readonly title: string
  readonly dialect: 'openai' | 'anthropic' | 'google' | 'cohere'
  readonly operation: string
  readonly body: { readonly [name: string]: Json }
  readonly counts: Counts
  readonly facts?: UsageFacts
}

const messages = { dialect: 'anthropic', operation: 'messages' } as const
const chat = { dialect: 'openai', operation: 'chat' } as const
const responses = { dialect: 'openai', operation: 'responses' } as const
const generate = { dialect: 'google', operation: 'generate' } as const

export const usageCounts: readonly UsageCounts[] = [
  {
    ...messages,
    title: 'cache writes for one hour',
    body: {
      usage: {
        input_tokens: 2000,
        cache_creation_input_tokens: 8000,
        cache_read_input_tokens: 90000,
        output_tokens: 1000,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 8000 },
      },
    },
    counts: { input: 100_000, cached_input: 90_000, cache_write: 8000, cache_write_1h: 8000, output: 1000 },
  },
  {
    ...messages,
    title: 'cache writes of both lifetimes, reported without a total',
    body: {
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      },
    },
    counts: { input: 310, cache_write: 300, cache_write_1h: 200, output: 5 },
  },
  {
    ...messages,
    title: 'searches of the web',
    body: {
      usage: {
        input_tokens: 12000,
        output_tokens: 800,
        server_tool_use: { web_search_requests: 3, web_fetch_requests: 0 },
      },
    },
    counts: { input: 12_000, output: 800, web_search: 3 },
  },
  {
    ...messages,
    title: 'tier, speed and region',
    body: {
      usage: { input_tokens: 1, output_tokens: 2, service_tier: 'priority', speed: 'fast', inference_geo: 'us' },
    },
    counts: { input: 1, output: 2 },
    facts: { service_tier: 'priority', speed: 'fast', region: 'us' },
  },
  {
    ...messages,
    title: 'a compaction, reported in its iterations alone',
    body: {
      usage: {
        input_tokens: 45000,
        output_tokens: 1234,
        iterations: [
          { type: 'compaction', input_tokens: 180000, output_tokens: 3500 },
          { type: 'message', input_tokens: 45000, output_tokens: 1234 },
        ],
      },
    },
    counts: { input: 225_000, output: 4734 },
  },
  {
    ...chat,
    title: 'reasoning that only the total includes',
    body: {
      usage: {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 1041,
        completion_tokens_details: { reasoning_tokens: 1000 },
      },
    },
    counts: { input: 32, output: 1009, reasoning: 1000 },
  },
  {
    ...chat,
    title: 'audio in and out',
    body: {
      usage: {
        prompt_tokens: 1200,
        completion_tokens: 600,
        total_tokens: 1800,
        prompt_tokens_details: { cached_tokens: 0, text_tokens: 200, audio_tokens: 1000, image_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0, text_tokens: 100, audio_tokens: 500 },
      },
    },
    counts: { input: 1200, cached_input: 0, input_audio: 1000, output: 600, output_audio: 500 },
  },
  {
    ...chat,
    title: 'audio of which a part was cached',
    body: {
      usage: {
        prompt_tokens: 1200,
        completion_tokens: 6,
        prompt_tokens_details: {
          cached_tokens: 700,
          audio_tokens: 1000,
          cached_tokens_details: { text_tokens: 100, audio_tokens: 600 },
        },
      },
    },
    counts: { input: 1200, cached_input: 700, cached_input_audio: 600, input_audio: 400, output: 6 },
  },
  {
    ...chat,
    title: 'audio and cached tokens that overlap, without a split',
    body: {
      usage: {
        prompt_tokens: 1000,
        completion_tokens: 6,
        prompt_tokens_details: { cached_tokens: 700, audio_tokens: 800 },
      },
    },
    counts: { input: 1000, cached_input: 700, cached_input_audio: 500, input_audio: 300, output: 6 },
  },
  {
    ...chat,
    title: 'cache writes in the details',
    body: {
      usage: {
        prompt_tokens: 100000,
        completion_tokens: 1000,
        total_tokens: 101000,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 90000 },
      },
    },
    counts: { input: 100_000, cached_input: 0, cache_write: 90_000, output: 1000 },
  },
  {
    ...chat,
    title: 'cache hits at the top level',
    body: {
      usage: {
        prompt_tokens: 50000,
        completion_tokens: 2000,
        total_tokens: 52000,
        prompt_cache_hit_tokens: 40000,
        prompt_cache_miss_tokens: 10000,
      },
    },
    counts: { input: 50_000, cached_input: 40_000, output: 2000 },
  },
  {
    ...chat,
    title: 'cached tokens at the top level',
    body: { usage: { prompt_tokens: 19, completion_tokens: 21, total_tokens: 40, cached_tokens: 10 } },
    counts: { input: 19, cached_input: 10, output: 21 },
  },
  {
    ...chat,
    title: 'a service tier next to the usage',
    body: { service_tier: 'flex', usage: { prompt_tokens: 3, completion_tokens: 4 } },
    counts: { input: 3, output: 4 },
    facts: { service_tier: 'flex' },
  },
  {
    ...responses,
    title: 'searches as items of the output; opening a page is part of one',
    body: {
      service_tier: 'default',
      usage: { input_tokens: 5, output_tokens: 6 },
      output: [
        { type: 'web_search_call', action: { type: 'search', query: 'a' } },
        { type: 'web_search_call', action: { type: 'open_page', url: 'https://a.example' } },
        { type: 'web_search_call' },
        { type: 'file_search_call' },
        { type: 'code_interpreter_call', container_id: 'c1' },
        { type: 'code_interpreter_call', container_id: 'c1' },
        { type: 'message', content: [] },
      ],
    },
    counts: { input: 5, output: 6, web_search: 2, file_search: 1, code_execution: 1 },
    facts: { service_tier: 'default' },
  },
  {
    ...generate,
    title: 'audio in the prompt',
    body: {
      usageMetadata: {
        promptTokenCount: 20100,
        candidatesTokenCount: 500,
        totalTokenCount: 20600,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 100 },
          { modality: 'AUDIO', tokenCount: 20000 },
        ],
      },
    },
    counts: { input: 20_100, input_audio: 20_000, output: 500 },
  },
  {
    ...generate,
    title: 'cached audio, images out, thoughts and tools',
    body: {
      usageMetadata: {
        promptTokenCount: 1000,
        cachedContentTokenCount: 600,
        toolUsePromptTokenCount: 50,
        candidatesTokenCount: 1290,
        thoughtsTokenCount: 10,
        totalTokenCount: 2350,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 800 }],
        cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 500 }],
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
        trafficType: 'ON_DEMAND_PRIORITY',
      },
    },
    counts: {
      input: 1050,
      cached_input: 600,
      cached_input_audio: 500,
      input_audio: 300,
      output: 1300,
      reasoning: 10,
      output_image: 1290,
    },
    facts: { service_tier: 'priority' },
  },
  {
    ...generate,
    title: 'a prompt grounded by two queries and by maps',
    body: {
      candidates: [
        {
          finishReason: 'STOP',
          groundingMetadata: {
            webSearchQueries: ['a', 'b'],
            groundingChunks: [{ web: { uri: 'https://a.example' } }, { maps: { placeId: 'x' } }],
          },
        },
      ],
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 5, totalTokenCount: 9 },
    },
    counts: { input: 4, output: 5, grounding: 1, web_search: 2, maps: 1 },
  },
  {
    dialect: 'openai',
    operation: 'image.generate',
    title: 'an image priced by tokens',
    body: {
      usage: {
        input_tokens: 3050,
        input_tokens_details: { text_tokens: 50, image_tokens: 3000 },
        output_tokens: 4660,
        output_tokens_details: { image_tokens: 4160, text_tokens: 500 },
        total_tokens: 7710,
      },
    },
    counts: { input: 3050, input_image: 3000, output: 4660, output_image: 4160 },
  },
]
