import type { Schema } from '../../src/plugin-api/index.ts'

/** The limits themselves are in the file's `groups`, `models` and `upstreams`. */
export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    on_store_failure: {
      type: 'string',
      enum: ['local', 'refuse'],
      default: 'local',
      description:
        'While shared counters do not answer: local, each process holds the limits by itself; refuse, limited requests are answered 503.',
    },
  },
} as const satisfies Schema
