import type { Schema } from '../../src/plugin-api/index.ts'

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['token_url', 'client_id', 'client_secret'],
  properties: {
    token_url: {
      type: 'string',
      pattern: '^https?://[^\\s/?#@]+/[^\\s#]*$',
      description: 'Where to request tokens: https://login.vendor.example/oauth2/v2.0/token.',
    },
    client_id: { type: 'string', minLength: 1, description: 'The client ID.' },
    client_secret: { type: 'string', minLength: 1, description: 'The secret of the client: "${CLIENT_SECRET}".' },
    scope: { type: 'string', minLength: 1, description: 'What tokens are for, as the vendor writes it.' },
    audience: { type: 'string', minLength: 1, description: 'The audience of tokens, where the vendor requires it.' },
    authenticate: {
      type: 'string',
      enum: ['body', 'basic'],
      default: 'body',
      description: 'Whether ID and secret are sent in the form or in the header authorization (Basic).',
    },
  },
} as const satisfies Schema
