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
      description: 'URL to which texts are sent by POST. Must be https://, unless it is on this machine.',
    },
    authorization: {
      type: 'string',
      description: 'Value of the header `authorization` of these requests: "Bearer ${GUARD_TOKEN}". A secret.',
    },
    format: {
      type: 'string',
      enum: ['tollgate', 'openai-moderations'],
      default: 'tollgate',
      description:
        'Format of requests and responses of the service. tollgate: request {side, texts, model, …}, response {action, rule, texts}. openai-moderations: request {input}, response {results: [{flagged, categories}]}.',
    },
    model: { type: 'string', description: 'Value of `model` in requests of the format openai-moderations.' },
    on: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', enum: ['request', 'response'], description: 'A side.' },
      default: ['request'],
      description: 'Texts to check: those of requests, of responses, or both.',
    },
    timeout: {
      type: 'integer',
      minimum: 50,
      maximum: 60_000,
      default: 2000,
      description: 'Timeout in milliseconds. The service then counts as unavailable.',
    },
    unavailable: {
      type: 'string',
      enum: ['refuse', 'pass'],
      default: 'refuse',
      description:
        'Handling of texts while the service is unavailable. refuse: the request gets 503. pass: the texts pass unchecked, which is logged.',
    },
    every: {
      type: 'integer',
      minimum: 1,
      maximum: 100_000,
      default: 400,
      description: 'Number of characters of a streamed text that are held back and checked together.',
    },
  },
} as const

export type ServiceFacet = Admits<typeof facetSchema>
