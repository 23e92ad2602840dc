import type { Admits } from '../../src/plugin-api/index.ts'

/** `guard-service` in a family. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['url'],
  properties: {
    url: {
      type: 'string',
      pattern: '^https?://.',
      description: 'Where texts are checked, by POST. https:// outside this machine.',
    },
    authorization: {
      type: 'string',
      description: 'The header `authorization` of these requests, as in "Bearer ${GUARD_TOKEN}". A secret.',
    },
    format: {
      type: 'string',
      enum: ['tollgate', 'openai-moderations'],
      default: 'tollgate',
      description:
        'tollgate: {side, texts, model, …} is answered by {action, rule, texts}. openai-moderations: {input} is answered by {results: [{flagged, categories}]}.',
    },
    model: { type: 'string', description: 'The `model` that openai-moderations requests name.' },
    on: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', enum: ['request', 'response'], description: 'A side.' },
      default: ['request'],
      description: 'Which texts are checked.',
    },
    timeout: {
      type: 'integer',
      minimum: 50,
      maximum: 60_000,
      default: 2000,
      description: 'Milliseconds until the service counts as unavailable.',
    },
    unavailable: {
      type: 'string',
      enum: ['refuse', 'pass'],
      default: 'refuse',
      description:
        'What happens to texts that the service does not check: refuse returns 503; pass lets them through and logs it.',
    },
    every: {
      type: 'integer',
      minimum: 1,
      maximum: 100_000,
      default: 400,
      description: 'Characters of a streamed text that are held back and checked together.',
    },
  },
} as const

export type ServiceFacet = Admits<typeof facetSchema>
