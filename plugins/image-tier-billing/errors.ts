import { failures, sharedRows } from '../../src/plugin-api/index.ts'

/** The errors of this plugin, with remedies. */
export const errors = {
  invalid_n: {
    status: 400,
    type: 'invalid_request_error',
    param: 'n',
    text: '{field} must be a whole number from 1 to {max}, not {value}.',
  },
  count_repeated: {
    status: 400,
    type: 'invalid_request_error',
    param: 'n',
    text: '{field} is in the request more than once. Send it once.',
  },
  count_in_address: {
    status: 400,
    type: 'invalid_request_error',
    text: "The URL sets a number of images ('{name}'). Set it in the request body instead.",
  },
  invalid_response_format: {
    status: 400,
    type: 'invalid_request_error',
    param: 'response_format',
    text: 'response_format must be b64_json or url, not {value}.',
  },
  response_format_not_streamed: {
    status: 400,
    type: 'invalid_request_error',
    param: 'response_format',
    text: 'response_format url cannot be combined with stream. Use b64_json, or do not stream.',
  },
  invalid_idempotency_key: {
    status: 400,
    type: 'invalid_request_error',
    text: 'Idempotency-Key must be sent once and contain 1 to 255 printable ASCII characters.',
  },
  models_not_together: sharedRows.models_not_together,
  insufficient_quota: sharedRows.insufficient_quota,
  idempotency_in_progress: {
    status: 409,
    type: 'invalid_request_error',
    text: 'A request with this Idempotency-Key is still running as {charge}. Try again later.',
    retry: true,
  },
  idempotency_mismatch: {
    status: 422,
    type: 'invalid_request_error',
    text: 'This Idempotency-Key was used for a different request ({charge}). Use a new key for a new request.',
    retry: false,
  },
  already_completed: {
    status: 409,
    type: 'invalid_request_error',
    text: 'The request with this Idempotency-Key ended as {charge}, and its response was not stored. See GET /v1/charges/{charge}.',
    retry: false,
  },
  job_in_review: {
    status: 409,
    type: 'server_error',
    text: '{charge} needs manual review, so its images are withheld. Contact the operator of the gateway.',
    retry: false,
  },
  storage_unavailable: sharedRows.storage_unavailable,
  price_missing: {
    status: 503,
    type: 'service_unavailable_error',
    text: "The model '{model}' has no price for tier {tier}, so it cannot be used. Ask the operator of the gateway to add one.",
    retry: false,
  },
  price_unknown: {
    status: 400,
    type: 'invalid_request_error',
    text: "The model '{model}' has no price for {field} {value}. It has prices for {known}.",
  },
  price_field_repeated: {
    status: 400,
    type: 'invalid_request_error',
    text: '{field} is in the request more than once, and the price depends on it. Send it once.',
  },
  invalid_quantity: {
    status: 400,
    type: 'invalid_request_error',
    text: '{field} must be a number from 0 to {max}, not {value}. The price depends on it.',
  },
  charge_not_recorded: {
    status: 503,
    type: 'service_unavailable_error',
    text: 'The upstream returned an image, but its charge could not be recorded, so the image was withheld. See charge {charge}.',
    retry: false,
  },
  upstream_answer_malformed: {
    status: 502,
    type: 'server_error',
    text: "The upstream's response cannot be read as images ({why}), so it was withheld.",
    retry: false,
  },
  upstream_answer_unrecognised: {
    status: 502,
    type: 'server_error',
    text: "The upstream's response has an unknown format ({shape}), so it was withheld. Nothing is charged until the operator has reviewed charge {charge}.",
    retry: false,
    operator:
      'If a charge waits for review, resolve it with `tollgate ledger resolve ID`. Configure the member that contains the image in the family.',
  },
  upstream_refused_images: {
    status: 502,
    type: 'server_error',
    text: 'The upstream did not generate an image: {message}',
    retry: false,
  },
  upstream_answer_encoded: {
    status: 502,
    type: 'server_error',
    text: 'The upstream sent content-encoding {encoding}, which was not requested, so its images cannot be counted.',
    retry: false,
  },
} as const

export const fail = failures(errors)
