import type { Schema } from '../../src/plugin-api/index.ts'

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    bad_keys_per_minute: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 20,
      description:
        'Number of requests with an invalid key that one client address may send in any 60 seconds. Further ones get 429 instead of 401.',
    },
  },
} as const satisfies Schema
