import { moment, text, textOrNull, truth } from './schemas.ts'

const properties = {
  id: { ...text, description: 'The request id of its handshake. Turns have it as `client_request_id`.' },
  key_id: text,
  key_name: text,
  user: text,
  operation: text,
  model: { ...textOrNull, description: 'Null if each message names its own.' },
  upstream: textOrNull,
  gateway: { ...text, description: 'The host of the gateway that has it.' },
  process: { ...text, description: 'The name of the process on that host.' },
  opened: moment,
  ending: { ...truth, description: 'True once it was ended, until its gateway has closed it.' },
} as const

/** The JSON schema of an open session. */
export const liveSessionSchema = {
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties) as unknown as readonly (keyof typeof properties)[],
  properties,
} as const
