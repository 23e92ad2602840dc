import type { Schema } from '../../src/plugin-api/index.ts'

/** The limits themselves are in the `groups`, `models` and `upstreams` of the file. */
export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    on_store_failure: {
      type: 'string',
      enum: ['local', 'refuse'],
      default: 'local',
      description:
        'While shared counters are unavailable: local: each process enforces the limits by itself; refuse: limited requests get 503.',
    },
  },
} as const satisfies Schema
