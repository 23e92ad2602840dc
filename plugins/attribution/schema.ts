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
        'Sources of the end user of a request: `header:NAME`, or `body:FIELD`. Dots separate nested members: `body:metadata.user_id`. The first source with a value is used.',
    },
    tags: {
      type: 'array',
      uniqueItems: true,
      maxItems: 20,
      items: { ...source, pattern: '^(?:key|header:[\\w-]{1,100}|body:[^\\s]{1,200})$' },
      default: [],
      description:
        'Sources of the tags of a request: `key` (the tags of the API key), `header:NAME` (a list with commas), `body:FIELD`. The tags of all sources are used. A list in a field is one tag per text. An object is one tag `name:value` per member, and a nested value one tag `name:value`.',
    },
    characters_max: {
      type: 'integer',
      minimum: 8,
      maximum: 256,
      default: 128,
      description: 'Maximum length of a stored name in characters. The rest is cut off.',
    },
    end_users_max: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: 'Maximum number of different end users. Further ones are counted as `(other)`.',
    },
    tags_max: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 1_000,
      description: 'Maximum number of different tags. Further ones are counted as `(other)`.',
    },
    share_percent: {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      default: 50,
      description: 'Share of end_users_max and tags_max that the requests of one API key may use, in percent.',
    },
    tags_of_request_max: {
      type: 'integer',
      minimum: 1,
      maximum: 32,
      default: 8,
      description: 'Maximum number of tags of one request. Further ones are dropped.',
    },
    hash: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', enum: ['end_user', 'tag'] },
      default: [],
      description: 'Kinds of names that are stored as a hash with `hash_secret`, never as text.',
    },
    hash_secret: {
      type: 'string',
      minLength: 16,
      maxLength: 1_000,
      description:
        'Secret of the hashes; required by `hash`. After a change of the secret, the same names count as new ones.',
    },
  },
} as const satisfies Schema
