import type { Admits, Schema } from '../../src/plugin-api/index.ts'

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

const secret = { type: 'string', minLength: 32 } as const

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    responses: {
      type: 'object',
      additionalProperties: false,
      required: ['secret'],
      description:
        'Keeps responses (`store`, `previous_response_id`) of models that are translated from the responses format, encrypted in the storage. Absent: such requests are refused.',
      properties: {
        secret: {
          ...secret,
          description: 'Encrypts the content, at least 32 characters, as in "${TOLLGATE_RESPONSES_SECRET}". A secret.',
        },
        old_secrets: {
          type: 'array',
          maxItems: 10,
          items: { ...secret, description: 'A former secret.' },
          default: [],
          description: 'Former secrets, by which earlier responses are still read.',
        },
        keep: {
          type: 'string',
          format: 'duration',
          default: '30d',
          description: 'How long a response is kept. Its content is then deleted.',
        },
      },
    },
  },
} as const satisfies Schema

export type BridgeOptions = Admits<typeof optionsSchema>

export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'Translates requests in other API formats, for models of the family that list them in `accepts`.',
  properties: {
    upstream_format: {
      type: 'string',
      minLength: 1,
      description:
        'API format in which the upstream is called, if the family forwards several: chat. Absent: the first of chat, messages, responses, generate.',
    },
    max_tokens: {
      type: 'integer',
      minimum: 1,
      default: 8192,
      description: 'Limit of the answer for requests that have none, in a format that needs one (messages).',
    },
    limit_field: {
      type: 'string',
      enum: ['max_completion_tokens', 'max_tokens'],
      default: 'max_completion_tokens',
      description: "The field of chat completions that limits the answer's tokens.",
    },
    reasoning: {
      type: 'string',
      enum: ['effort', 'budget', 'adaptive', 'none'],
      default: 'effort',
      description:
        'How requests make the models reason: by effort, by a budget of tokens, adaptively with an effort, or not at all.',
    },
    efforts: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', enum: efforts, description: 'Effort of reasoning.' },
      default: ['low', 'medium', 'high'],
      description: 'Efforts that the models take. The nearest lower one replaces any other.',
    },
    sampling: {
      type: 'boolean',
      default: true,
      description: 'Whether the models take temperature, top_p and top_k. false drops them.',
    },
    prompt_cache: {
      type: 'string',
      enum: ['client', 'auto'],
      default: 'client',
      description:
        'Who marks prompts for the cache of an upstream that caches only what is marked (messages). client: the client alone. auto: the gateway too, where the client has no marks; needs a price of cache_write.',
    },
    voices: {
      type: 'object',
      maxProperties: 1000,
      propertyNames: { pattern: '^[^\\u0000-\\u001f\\u007f]{1,128}$' },
      additionalProperties: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,128}$', description: 'ID of a voice.' },
      default: {},
      description:
        'IDs of voices at the upstream, by the names that clients of another format use: { alloy: 21m00Tcm4TlvDq8ikWAM }. Other names are sent as they are.',
    },
    links: {
      type: 'boolean',
      default: false,
      description:
        'Whether the upstream fetches links to images and documents itself. The gateway fetches nothing; false refuses links.',
    },
  },
} as const

export type BridgeFacet = Admits<typeof facetSchema>
