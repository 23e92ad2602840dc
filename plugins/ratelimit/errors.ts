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
    text: 'This request may use {estimate} tokens, and the limit {limit} admits {max} in any 60 seconds: it could never be admitted. Shorten it, or limit its answer (max_tokens).',
    retry: false,
  },
  counters_unavailable: {
    status: 503,
    type: 'service_unavailable_error',
    text: 'The store that limits are counted in does not answer. Nothing was sent upstream; try again shortly.',
    operator: 'Is Redis there? `tollgate doctor` tries `counters`.',
  },
  storage_unavailable: sharedRows.storage_unavailable,
} as const satisfies ErrorTable

export const fail = failures(errors)
