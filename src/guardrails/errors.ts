import { failures } from '../plugin-api/index.ts'

/** The errors of every guard, with remedies. */
export const errors = {
  request_blocked: {
    status: 403,
    type: 'permission_error',
    text: "The request was blocked by the rule '{rule}' ({guard}). Change its text; the same text is blocked again.",
    retry: false,
  },
  guarded_name_repeated: {
    status: 400,
    type: 'invalid_request_error',
    text: "The request has '{name}' twice in one object. Upstreams differ in which of the two they read, so no guard can check it: send it once.",
    retry: false,
  },
  response_blocked: {
    status: 403,
    type: 'permission_error',
    text: "The response was blocked by the rule '{rule}' ({guard}). Its usage is charged.",
    retry: false,
  },
  guard_unavailable: {
    status: 503,
    type: 'server_error',
    text: 'The moderation service is unavailable, and no text passes without it. Try again later.',
    retry: true,
    operator: 'See the log for the reason. To let text pass unchecked, set `unavailable: pass`.',
  },
} as const

export const fail = failures(errors)
