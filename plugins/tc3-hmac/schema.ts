import type { Schema } from '../../src/plugin-api/index.ts'

const secret = { type: 'string', format: 'header-value', minLength: 1 } as const
const name = { type: 'string', format: 'header-value', minLength: 1 } as const

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['secret_id', 'secret_key', 'service', 'version'],
  properties: {
    secret_id: { ...secret, description: 'Key ID.' },
    secret_key: { ...secret, description: 'Secret key.' },
    session_token: { ...secret, description: 'Token of temporary keys, sent as x-tc-token.' },
    service: { ...name, description: 'Service name in signatures: the first label of its host.' },
    version: { ...name, description: 'API version, sent as x-tc-version: 2022-12-29.' },
    region: { ...name, description: 'Region, sent as x-tc-region; absent if the service has none.' },
    action: {
      ...name,
      description: 'Action, sent as x-tc-action if `calls` does not set one for the operation.',
    },
  },
} as const satisfies Schema
