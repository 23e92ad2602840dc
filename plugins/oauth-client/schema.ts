import type { Schema } from '../../src/kit/index.ts'

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['token_url', 'client_id', 'client_secret'],
  properties: {
    token_url: {
      type: 'string',
      pattern: '^https?://[^\\s/?#@]+/[^\\s#]*$',
      description: 'Where tokens are asked for: https://login.vendor.example/oauth2/v2.0/token.',
    },
    client_id: { type: 'string', minLength: 1, description: 'Who asks.' },
    client_secret: { type: 'string', minLength: 1, description: 'The secret of the client: "${CLIENT_SECRET}".' },
    scope: { type: 'string', minLength: 1, description: 'What tokens are for, as the vendor writes it.' },
    audience: { type: 'string', minLength: 1, description: 'Whom tokens are for, where the vendor asks for it.' },
    authenticate: {
      type: 'string',
      enum: ['body', 'basic'],
      default: 'body',
      description: 'Whether id and secret stand in the form or in the header authorization (Basic).',
    },
  },
} as const satisfies Schema
