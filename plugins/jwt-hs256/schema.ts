import type { Schema } from '../../src/plugin-api/index.ts'

const secret = { type: 'string', format: 'header-value', minLength: 1 } as const

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['access_key', 'secret_key'],
  properties: {
    access_key: { ...secret, description: 'Id of the key, which the token names as its issuer (iss).' },
    secret_key: { ...secret, description: 'What tokens are signed with.' },
    lifetime: {
      type: 'string',
      format: 'duration',
      default: '30m',
      description: 'How long a token is good; a new one is made before its end.',
    },
  },
} as const satisfies Schema
