import type { Schema } from '../../src/plugin-api/index.ts'

const secret = { type: 'string', format: 'header-value', minLength: 1 } as const
const name = { type: 'string', format: 'header-value', minLength: 1 } as const

export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['secret_id', 'secret_key', 'service', 'version'],
  properties: {
    secret_id: { ...secret, description: 'Id of the key.' },
    secret_key: { ...secret, description: 'The key itself.' },
    session_token: { ...secret, description: 'The token of temporary keys, sent as x-tc-token.' },
    service: { ...name, description: 'Name of the service in signatures: the first part of its host.' },
    version: { ...name, description: 'Version of its interface, sent as x-tc-version: 2022-12-29.' },
    region: { ...name, description: 'Sent as x-tc-region; absent where the service takes none.' },
    action: {
      ...name,
      description: 'Sent as x-tc-action where the request does not name one: `calls` can, for each operation.',
    },
  },
} as const satisfies Schema
