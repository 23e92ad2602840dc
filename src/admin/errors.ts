import { failures, type ErrorTable, sharedRows } from '../kit/index.ts'

/** Refusals of the console's API. Its callers are the console's own pages: these are no codes of `/v1`. */
const consoleErrors = {
  invalid: { status: 400, type: 'console', text: '{why}' },
  not_logged_in: {
    status: 401,
    type: 'console',
    text: 'Log in at /console first: there is no session, or it has ended.',
  },
  wrong_password: { status: 401, type: 'console', text: 'The name or the password is wrong.' },
  forbidden: { status: 403, type: 'console', text: 'Your role does not allow this.' },
  own_charge: {
    status: 403,
    type: 'console',
    text: 'This is a charge of your own: somebody else decides about it.',
  },
  out_of_bounds: {
    status: 403,
    type: 'console',
    text: "'{field}' may be {allowed}: {by} set that. Ask an administrator for more.",
  },
  cross_site: {
    status: 403,
    type: 'console',
    text: 'Changes are taken from the console itself only: JSON, with the header x-tollgate: 1, from the same site.',
  },
  not_found: { status: 404, type: 'console', text: 'There is no such thing here, or it is not yours.' },
  conflict: { status: 409, type: 'console', text: '{why}' },
  too_large: { status: 413, type: 'console', text: 'The request is larger than this endpoint takes.' },
  slow_down: { status: 429, type: 'console', text: 'Too many attempts: wait {seconds} s and try again.' },
  internal: { status: 500, type: 'console', text: 'Something went wrong here. The log has it under this request id.' },
  storage_unavailable: sharedRows.storage_unavailable,
} as const satisfies ErrorTable

export const fail = failures(consoleErrors)
