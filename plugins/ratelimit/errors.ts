import { type ErrorTable, failures } from '../../src/kit/index.ts'

export const errors = {
  rate_limit_exceeded: {
    status: 429,
    type: 'requests',
    text: 'Rate limit {limit} reached: {max} requests in any 60 seconds. Try again in {seconds} s.',
  },
} as const satisfies ErrorTable

export const fail = failures(errors)
