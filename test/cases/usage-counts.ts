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
    ...messages,
    title: 'thinking, a part of the output',
    body: { usage: { input_tokens: 10, output_tokens: 900, output_tokens_details: { thinking_tokens: 700 } } },
    counts: { input: 10, output: 900, reasoning: 700 },
  },
  {
    ...messages,
    title: 'thinking that only the details of the last iteration report',
    body: {
      usage: {
        input_tokens: 45,
        output_tokens: 12,
        output_tokens_details: { thinking_tokens: 8 },
        iterations: [
          { type: 'compaction', input_tokens: 180, output_tokens: 35 },
          { type: 'message', input_tokens: 45, output_tokens: 12 },
        ],
      },
    },
    counts: { input: 225, output: 47, reasoning: 8 },
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
    ...responses,
    title: 'the searches that the vendor charges, not those among the items',
    body: {
      usage: { input_tokens: 5, output_tokens: 6 },
      tool_usage: {
        image_gen: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
        web_search: { num_requests: 3 },
      },
      output: [
        { type: 'web_search_call', action: { type: 'search', queries: ['a', 'b', 'c'] } },
        { type: 'web_search_call', action: { type: 'find_in_page', url: 'https://a.example', pattern: 'a' } },
      ],
    },
    counts: { input: 5, output: 6, web_search: 3 },
  },
  {
    ...responses,
    title: 'containers of a hosted shell, next to those of code; a local shell has none',
    body: {
      usage: { input_tokens: 5, output_tokens: 6 },
      output: [
        { type: 'shell_call', environment: { type: 'container_reference', container_id: 'c1' } },
        { type: 'shell_call', environment: { type: 'container_reference', container_id: 'c1' } },
        { type: 'shell_call', environment: { type: 'container_reference', container_id: 'c2' } },
        { type: 'code_interpreter_call', container_id: 'c2' },
        { type: 'shell_call', environment: { type: 'local' } },
        { type: 'shell_call', environment: null },
        { type: 'local_shell_call' },
      ],
    },
    counts: { input: 5, output: 6, code_execution: 2 },
  },
  {
    ...responses,
    title: 'tokens of drawings, which the usage does not include',
    body: {
      usage: {
        input_tokens: 50,
        output_tokens: 60,
        output_tokens_details: { reasoning_tokens: 10 },
        total_tokens: 110,
      },
      output: [
        {
          type: 'image_generation_call',
          svg_usage: { model: 'm', input_tokens: 100, output_tokens: 2000, reasoning_tokens: 300, total_tokens: 2100 },
        },
        { type: 'image_generation_call' },
      ],
    },
    counts: { input: 150, output: 2060, reasoning: 310 },
  },
  {
    ...generate,
    title: 'a cached video',
    body: {
      usageMetadata: {
        promptTokenCount: 300_100,
        cachedContentTokenCount: 300_000,
        candidatesTokenCount: 500,
        totalTokenCount: 300_600,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 100 },
          { modality: 'VIDEO', tokenCount: 290_000 },
          { modality: 'AUDIO', tokenCount: 10_000 },
        ],
        cacheTokensDetails: [
          { modality: 'VIDEO', tokenCount: 290_000 },
          { modality: 'AUDIO', tokenCount: 10_000 },
        ],
      },
    },
    counts: {
      input: 300_100,
      cached_input: 300_000,
      cached_input_video: 290_000,
      cached_input_audio: 10_000,
      output: 500,
    },
  },
  {
    ...generate,
    title: 'a video of which a part was cached, without a split',
    body: {
      usageMetadata: {
        promptTokenCount: 1000,
        cachedContentTokenCount: 700,
        candidatesTokenCount: 5,
        promptTokensDetails: [{ modality: 'VIDEO', tokenCount: 800 }],
      },
    },
    counts: { input: 1000, cached_input: 700, cached_input_video: 500, input_video: 300, output: 5 },
  },
  {
    ...generate,
    title: 'a tier that leaves the choice to the vendor',
    body: { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, serviceTier: 'unspecified' } },
    counts: { input: 3, output: 4 },
    facts: { service_tier: 'standard' },
  },
  {
    ...generate,
    title: 'a prompt grounded by a search for images',
    body: {
      candidates: [
        {
          finishReason: 'STOP',
          groundingMetadata: {
            imageSearchQueries: ['a boat'],
            groundingChunks: [{ image: { sourceUri: 'https://a.example' } }],
          },
        },
      ],
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 5, totalTokenCount: 9 },
    },
    counts: { input: 4, output: 5, grounding: 1, web_search: 1 },
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
  {
    dialect: 'openai',
    operation: 'image.generate',
    title: 'tokens of a drawing, which the usage of images does not include',
    body: {
      usage: { input_tokens: 30, output_tokens: 40, total_tokens: 70 },
      svg_usage: { model: 'm', input_tokens: 100, output_tokens: 2000, reasoning_tokens: 300, total_tokens: 2100 },
    },
    counts: { input: 130, output: 2040, reasoning: 300 },
  },
]
