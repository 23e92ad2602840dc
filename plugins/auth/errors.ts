import { type ErrorTable, failures, sharedRows } from '../../src/plugin-api/index.ts'

const bad = 'invalid_request_error'

export const errors = {
  // One text for unknown, malformed, disabled, revoked and expired keys: the answer does not distinguish them.
  invalid_api_key: {
    status: 401,
    type: bad,
    text: '{what} Send an API key of this gateway as {where}.',
  },
  conflicting_api_keys: {
    status: 400,
    type: bad,
    text: 'The request has two different API keys, or too many keys. Send one key in one header.',
  },
  too_many_bad_keys: {
    status: 429,
    type: 'requests',
    text: 'More than {max} requests with a bad API key came from your address within 60 seconds. Use a valid key.',
    // A retry with the same key would be refused again.
    retry: false,
  },
  address_not_allowed: {
    status: 403,
    type: bad,
    text: 'This API key is not allowed from your IP address.',
  },
  group_unknown: {
    status: 403,
    type: bad,
    text: "This API key belongs to the group '{group}', which is not configured. Ask the operator of the gateway to add the group or to move the key.",
  },
  model_not_allowed: {
    status: 403,
    type: bad,
    param: 'model',
    text: "This API key is not allowed to use the model '{model}'.",
  },
  storage_unavailable: sharedRows.storage_unavailable,
} as const satisfies ErrorTable

export const fail = failures(errors)
