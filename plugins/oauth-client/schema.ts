import type { Schema } from '../../src/plugin-api/index.ts'

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['token_url', 'client_id', 'client_secret'],
  properties: {
    token_url: {
      type: 'string',
      pattern: '^https?://[^\\s/?#@]+/[^\\s#]*$',
      description: 'Token URL: https://login.vendor.example/oauth2/v2.0/token.',
    },
    client_id: { type: 'string', minLength: 1, description: 'The client ID.' },
    client_secret: { type: 'string', minLength: 1, description: 'The client secret: "${CLIENT_SECRET}".' },
    scope: { type: 'string', minLength: 1, description: "Scopes of tokens, in the vendor's notation." },
    audience: { type: 'string', minLength: 1, description: 'Audience of tokens, if the vendor requires it.' },
    authenticate: {
      type: 'string',
      enum: ['body', 'basic'],
      default: 'body',
      description: 'Whether the ID and secret are sent in the form body or in the header authorization (Basic).',
    },
  },
} as const satisfies Schema
