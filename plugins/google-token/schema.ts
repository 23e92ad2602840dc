import type { Schema } from '../../src/plugin-api/index.ts'

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['key'],
  properties: {
    key: {
      type: 'string',
      minLength: 2,
      description: 'Key file of the service account, as JSON: "${file:/run/secrets/service-account.json}".',
    },
    scope: {
      type: 'string',
      minLength: 1,
      default: 'https://www.googleapis.com/auth/cloud-platform',
      description: 'Scopes of the token, separated by spaces.',
    },
    token_url: {
      type: 'string',
      pattern: '^https?://[^\\s/?#@]+/[^\\s#]*$',
      description: 'Token URL; absent: the token_uri of the key file.',
    },
  },
} as const satisfies Schema
