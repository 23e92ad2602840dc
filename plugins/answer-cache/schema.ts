import type { Schema } from '../../src/plugin-api/index.ts'

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    memory_max: {
      type: 'string',
      format: 'bytes',
      default: '64MiB',
      description: 'Memory for cached responses, in each process. The least recently used ones are dropped.',
    },
    response_max: {
      type: 'string',
      format: 'bytes',
      default: '1MiB',
      description: 'Maximum size of a cached response. Larger ones are not cached.',
    },
    request_max: {
      type: 'string',
      format: 'bytes',
      default: '1MiB',
      description: 'Maximum size of a request. Larger ones do not use the cache.',
    },
  },
} as const satisfies Schema
