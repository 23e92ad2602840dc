import { moment, text, textOrNull, truth } from './schemas.ts'

const properties = {
  id: {
    ...text,
    description: 'Request ID of the handshake. The log rows of its turns have it as `client_request_id`.',
  },
  key_id: text,
  key_name: text,
  user: text,
  operation: text,
  model: { ...textOrNull, description: 'Model of the session. Null if each message names a model.' },
  upstream: textOrNull,
  gateway: { ...text, description: 'Host name of the gateway with the session.' },
  process: { ...text, description: 'Name of the process on that host.' },
  opened: moment,
  ending: { ...truth, description: 'True if the session was ended and its gateway has not closed it yet.' },
} as const

/** The JSON schema of an open session. */
export const liveSessionSchema = {
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties) as unknown as readonly (keyof typeof properties)[],
  properties,
} as const
