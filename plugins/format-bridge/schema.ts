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
          description: 'Secret that encrypts the content, at least 32 characters: "${TOLLGATE_RESPONSES_SECRET}".',
        },
        old_secrets: {
          type: 'array',
          maxItems: 10,
          items: { ...secret, description: 'A previous secret.' },
          default: [],
          description: 'Previous secrets, with which earlier responses can still be decrypted.',
        },
        keep: {
          type: 'string',
          format: 'duration',
          default: '30d',
          description: 'Time after which the content of a response is deleted.',
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
      description:
        'Maximum tokens of the response, for requests without a limit in a format that requires one (messages).',
    },
    limit_field: {
      type: 'string',
      enum: ['max_completion_tokens', 'max_tokens'],
      default: 'max_completion_tokens',
      description: 'Name of the field of chat completions that limits the tokens of the response.',
    },
    reasoning: {
      type: 'string',
      enum: ['effort', 'budget', 'adaptive', 'none'],
      default: 'effort',
      description:
        'Form in which requests configure the reasoning of the models: an effort, a token budget, adaptive reasoning with an effort, or none.',
    },
    efforts: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', enum: efforts, description: 'Effort of reasoning.' },
      default: ['low', 'medium', 'high'],
      description: 'Reasoning efforts that the models accept. Any other effort is replaced by the nearest lower one.',
    },
    sampling: {
      type: 'boolean',
      default: true,
      description: 'Whether the models accept temperature, top_p and top_k. false drops these fields.',
    },
    prompt_cache: {
      type: 'string',
      enum: ['client', 'auto'],
      default: 'client',
      description:
        'Source of cache marks in prompts, for an upstream that caches only marked content (messages). client: only the client adds marks. auto: the gateway adds marks to requests without any; requires a price for cache_write.',
    },
    voices: {
      type: 'object',
      maxProperties: 1000,
      propertyNames: { pattern: '^[^\\u0000-\\u001f\\u007f]{1,128}$' },
      additionalProperties: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,128}$', description: 'ID of a voice.' },
      default: {},
      description:
        'Voice IDs at the upstream, by the voice names of other formats: { alloy: 21m00Tcm4TlvDq8ikWAM }. Other names are sent unchanged.',
    },
    links: {
      type: 'boolean',
      default: false,
      description:
        'Whether the upstream fetches links to images and documents. false refuses requests with links. The gateway never fetches them.',
    },
  },
} as const

export type BridgeFacet = Admits<typeof facetSchema>
