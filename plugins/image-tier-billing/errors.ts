import { failures, sharedRows } from '../../src/plugin-api/index.ts'

/** The errors of this plugin, with remedies. */
export const errors = {
  invalid_n: {
    status: 400,
    type: 'invalid_request_error',
    param: 'n',
    text: '{field} must be a whole number from 1 to {max}, not {value}',
  },
  count_repeated: {
    status: 400,
    type: 'invalid_request_error',
    param: 'n',
    text: '{field} is given more than once: send it once, so that all who read it read the same',
  },
  count_in_address: {
    status: 400,
    type: 'invalid_request_error',
    text: "The address names a number of images ('{name}'), which no hold would cover: set it in the body",
  },
  invalid_response_format: {
    status: 400,
    type: 'invalid_request_error',
    param: 'response_format',
    text: 'response_format must be b64_json or url, not {value}',
  },
  response_format_not_streamed: {
    status: 400,
    type: 'invalid_request_error',
    param: 'response_format',
    text: 'response_format url cannot be combined with stream: request b64_json, or do not stream',
  },
  invalid_idempotency_key: {
    status: 400,
    type: 'invalid_request_error',
    text: 'Idempotency-Key must be sent once and hold 1 to 255 printable ASCII characters',
  },
  models_not_together: sharedRows.models_not_together,
  insufficient_quota: sharedRows.insufficient_quota,
  idempotency_in_progress: {
    status: 409,
    type: 'invalid_request_error',
    text: 'A request with this Idempotency-Key is still running as {charge}; retry later',
    retry: true,
  },
  idempotency_mismatch: {
    status: 422,
    type: 'invalid_request_error',
    text: 'This Idempotency-Key was used for a different request ({charge}); use a new key for a new request',
    retry: false,
  },
  already_completed: {
    status: 409,
    type: 'invalid_request_error',
    text: 'The request with this Idempotency-Key has ended as {charge} and its answer was not kept; see GET /v1/charges/{charge}',
    retry: false,
  },
  job_in_review: {
    status: 409,
    type: 'server_error',
    text: 'What came of {charge} is for a person to see: its images are not handed out',
    retry: false,
  },
  storage_unavailable: sharedRows.storage_unavailable,
  price_missing: {
    status: 503,
    type: 'service_unavailable_error',
    text: 'Model {model} has no price for tier {tier}, so it cannot be used; the operator has to add one',
    retry: false,
  },
  price_unknown: {
    status: 400,
    type: 'invalid_request_error',
    text: 'Model {model} has no price for {field} {value}; it has prices for {known}',
  },
  price_field_repeated: {
    status: 400,
    type: 'invalid_request_error',
    text: '{field} is given more than once, and the price goes by it: send it once',
  },
  invalid_quantity: {
    status: 400,
    type: 'invalid_request_error',
    text: '{field} must be a number from 0 to {max}, not {value}: the price goes by it',
  },
  charge_not_recorded: {
    status: 503,
    type: 'service_unavailable_error',
    text: 'An image came back but its charge could not be recorded, so it was not handed out; charge {charge} shows what became of it',
    retry: false,
  },
  upstream_answer_malformed: {
    status: 502,
    type: 'server_error',
    text: 'The upstream answered with something that cannot be read as images ({why}), so it was not handed out',
    retry: false,
  },
  upstream_answer_unrecognised: {
    status: 502,
    type: 'server_error',
    text: 'The upstream answered in a shape that is not known ({shape}), so it was not handed out; nothing is charged until the operator has looked at charge {charge}',
    retry: false,
    operator:
      'A charge may wait for you: `tollgate ledger resolve ID`. Name the member that holds the image in the family.',
  },
  upstream_refused_images: {
    status: 502,
    type: 'server_error',
    text: 'The upstream made no image: {message}',
    retry: false,
  },
  upstream_answer_encoded: {
    status: 502,
    type: 'server_error',
    text: 'The upstream sent content-encoding {encoding} although none was requested, so its images cannot be counted',
    retry: false,
  },
} as const

export const fail = failures(errors)
