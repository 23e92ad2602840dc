import type { Schema } from '../../src/plugin-api/index.ts'

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    memory_max: {
      type: 'string',
      format: 'bytes',
      default: '64MiB',
      description: 'Memory for kept responses, in each process. The least recently used ones are dropped.',
    },
    response_max: {
      type: 'string',
      format: 'bytes',
      default: '1MiB',
      description: 'Longer responses are not kept.',
    },
    request_max: {
      type: 'string',
      format: 'bytes',
      default: '1MiB',
      description: 'Longer requests are neither looked up nor kept.',
    },
  },
} as const satisfies Schema
