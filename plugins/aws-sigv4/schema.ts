import type { Schema } from '../../src/plugin-api/index.ts'

const secret = { type: 'string', format: 'header-value', minLength: 1 } as const

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['access_key', 'secret_key', 'region', 'service'],
  properties: {
    access_key: { ...secret, description: 'Access key ID: "${AWS_ACCESS_KEY_ID}".' },
    secret_key: { ...secret, description: 'Secret access key: "${AWS_SECRET_ACCESS_KEY}".' },
    session_token: { ...secret, description: 'Session token of temporary credentials; absent for permanent ones.' },
    region: { type: 'string', minLength: 1, description: 'Region of the endpoint: us-east-1.' },
    service: { type: 'string', minLength: 1, description: 'Service name in signatures: bedrock.' },
  },
} as const satisfies Schema
