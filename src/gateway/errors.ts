import { failures, type ErrorTable, sharedRows } from '../domain/index.ts'

/** Errors of the routes that the gateway answers itself. */
export const errors = {
  storage_unavailable: sharedRows.storage_unavailable,
  job_not_found: {
    status: 404,
    type: 'invalid_request_error',
    text: "This key has no job '{id}'. The ID of a job is the request ID in x-request-id. Jobs are kept for a day.",
  },
  client_secret_invalid: {
    status: 400,
    type: 'invalid_request_error',
    text: 'The client secret was not created: {why}.',
  },
  charge_not_found: {
    status: 404,
    type: 'invalid_request_error',
    text: "This key has no charge '{id}'. The ID of a charge is the request ID in x-request-id.",
  },
} as const satisfies ErrorTable

export const fail = failures(errors)
