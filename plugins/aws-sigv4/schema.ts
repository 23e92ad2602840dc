import type { Schema } from '../../src/plugin-api/index.ts'

const secret = { type: 'string', format: 'header-value', minLength: 1 } as const

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['access_key', 'secret_key', 'region', 'service'],
  properties: {
    access_key: { ...secret, description: 'Id of the access key: "${AWS_ACCESS_KEY_ID}".' },
    secret_key: { ...secret, description: 'The secret access key: "${AWS_SECRET_ACCESS_KEY}".' },
    session_token: { ...secret, description: 'The token of temporary keys; without it the keys are lasting ones.' },
    region: { type: 'string', minLength: 1, description: 'Region of the endpoint: us-east-1.' },
    service: { type: 'string', minLength: 1, description: 'Name of the service in signatures: bedrock.' },
  },
} as const satisfies Schema
