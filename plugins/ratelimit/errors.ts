import { type ErrorTable, failures, sharedRows } from '../../src/plugin-api/index.ts'

export const errors = {
  rate_limit_exceeded: {
    status: 429,
    type: 'requests',
    text: 'Rate limit {limit} reached: {max} {what}{whose}. Try again in {seconds} s.',
  },
  tokens_over_limit: {
    status: 400,
    type: 'invalid_request_error',
    text: 'This request may use {estimate} tokens, more than the limit {limit} of {max} in any 60 seconds. Shorten it, or limit its response with max_tokens.',
    retry: false,
  },
  counters_unavailable: {
    status: 503,
    type: 'service_unavailable_error',
    text: 'The store for rate limits is not available. Nothing was sent upstream. Try again shortly.',
    operator: 'Check that Redis runs: `tollgate doctor` tests `counters`.',
  },
  storage_unavailable: sharedRows.storage_unavailable,
} as const satisfies ErrorTable

export const fail = failures(errors)
