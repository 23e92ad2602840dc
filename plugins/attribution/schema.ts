import type { Schema } from '../../src/plugin-api/index.ts'

const source = {
  type: 'string',
  pattern: '^(?:header:[\\w-]{1,100}|body:[^\\s]{1,200})$',
  maxLength: 210,
} as const

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    end_user: {
      type: 'array',
      uniqueItems: true,
      maxItems: 20,
      items: source,
      default: [],
      description:
        'Where requests name their end user: `header:NAME`, or `body:FIELD`; dots separate nested members: `body:metadata.user_id`. The first that has a value counts.',
    },
    tags: {
      type: 'array',
      uniqueItems: true,
      maxItems: 20,
      items: { ...source, pattern: '^(?:key|header:[\\w-]{1,100}|body:[^\\s]{1,200})$' },
      default: [],
      description:
        'Where tags come from, all of them: `key` (the tags of the API key), `header:NAME` (a list with commas), `body:FIELD`. A list gives its texts, an object `name:value` for each member, a nested value `name:value`.',
    },
    characters_max: {
      type: 'integer',
      minimum: 8,
      maximum: 256,
      default: 128,
      description: 'Characters of a name that are stored. The rest is cut off.',
    },
    end_users_max: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: 'Different end users that are stored. Further ones count as `(other)`.',
    },
    tags_max: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 1_000,
      description: 'Different tags that are stored. Further ones count as `(other)`.',
    },
    share_percent: {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      default: 50,
      description: 'The part of these that the requests of one API key may add.',
    },
    tags_of_request_max: {
      type: 'integer',
      minimum: 1,
      maximum: 32,
      default: 8,
      description: 'Tags of one request that are stored. The first count.',
    },
    hash: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', enum: ['end_user', 'tag'] },
      default: [],
      description: 'Names that are stored as a hash with `hash_secret`, never as text.',
    },
    hash_secret: {
      type: 'string',
      minLength: 16,
      maxLength: 1_000,
      description: 'Needed for `hash`. With another secret, the same end users are new ones.',
    },
  },
} as const satisfies Schema
