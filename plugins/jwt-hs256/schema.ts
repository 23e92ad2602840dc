import type { Schema } from '../../src/plugin-api/index.ts'

const secret = { type: 'string', format: 'header-value', minLength: 1 } as const

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['access_key', 'secret_key'],
  properties: {
    access_key: { ...secret, description: 'Key ID, sent as the issuer (iss) of the token.' },
    secret_key: { ...secret, description: 'Signing key of tokens.' },
    lifetime: {
      type: 'string',
      format: 'duration',
      default: '30m',
      description: 'Lifetime of a token; it is renewed before it expires.',
    },
  },
} as const satisfies Schema
