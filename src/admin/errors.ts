import { failures, type ErrorTable, sharedRows } from '../domain/index.ts'

/** Refusals of the console's API. Its clients are the console's own pages: these codes do not belong to `/v1`. */
export const consoleErrors = {
  not_logged_in: {
    status: 401,
    type: 'console',
    text: 'Log in at /console first: there is no session, or it has ended.',
  },
  wrong_password: { status: 401, type: 'console', text: 'The name or the password is wrong.' },
  passwords_off: {
    status: 403,
    type: 'console',
    text: 'Sign-in with a password is turned off: use one of the other ways.',
  },
  issuer_unavailable: {
    status: 503,
    type: 'console',
    text: '{label} cannot be reached at the moment, so that sign-in with it does not work. Try again soon.',
    operator: 'The log has why it was not reached. Passwords go on.',
  },
  sign_in_elsewhere: {
    status: 409,
    type: 'console',
    text: 'People are sent back to {url} after signing in: open the console there.',
  },
  sign_in_stale: {
    status: 400,
    type: 'console',
    text: 'This sign-in was not begun in this browser, was finished before, or took too long: begin again.',
  },
  sign_in_denied: { status: 403, type: 'console', text: '{label} did not let you sign in, or you cancelled it.' },
  sign_in_failed: {
    status: 403,
    type: 'console',
    text: 'What {label} said of you could not be verified. Begin again; the log has why, under this request id.',
  },
  no_account: {
    status: 403,
    type: 'console',
    text: 'No user here has this account of {label}. Request an invitation from an administrator.',
  },
  no_role: {
    status: 403,
    type: 'console',
    text: 'Your account of {label} is in no group that may use this console. Contact the person who assigns its groups.',
  },
  account_disabled: { status: 403, type: 'console', text: 'Your user is disabled. Contact an administrator.' },
  identity_taken: {
    status: 409,
    type: 'console',
    text: 'This account of {label} is tied to another user, or this user to another account.',
  },
  invitation_unknown: {
    status: 400,
    type: 'console',
    text: 'This invitation is not valid: it was used, has expired, or was revoked. Request another one.',
  },
  token_invalid: {
    status: 401,
    type: 'console',
    text: 'This is no valid admin token: it is unknown, was revoked or has expired. API keys are for /v1. Create one with tollgate admin-tokens create.',
  },
  token_address: { status: 403, type: 'console', text: 'This admin token is not accepted from {address}.' },
  token_scope: {
    status: 403,
    type: 'console',
    text: "This needs the scope '{scope}', and the admin token has {scopes}. Create a token with that scope.",
  },
  token_roles: {
    status: 403,
    type: 'console',
    text: 'An admin token without every scope may manage only users of the role `user`. Create a token with all scopes.',
  },
  token_barred: {
    status: 403,
    type: 'console',
    text: 'No admin token may do this: sign in at /console, or use the command line.',
  },
  forbidden: { status: 403, type: 'console', text: 'Your role does not allow this.' },
  own_charge: {
    status: 403,
    type: 'console',
    text: 'This is your own charge: another person has to decide about it.',
  },
  out_of_bounds: {
    status: 403,
    type: 'console',
    text: "'{field}' may be {allowed}: {by} set that. Contact an administrator for more.",
  },
  edits_off: {
    status: 403,
    type: 'console',
    text: 'Changes are not written from here ({detail}): download the patch. `server.console_edits: on` would allow it.',
  },
  sign_in_again: {
    status: 403,
    type: 'console',
    text: 'A session alone may not do this: enter your password again, or sign in again and do it within 10 minutes.',
  },
  config_changed: {
    status: 409,
    type: 'console',
    text: '{file} has changed since this was proposed: nothing was written. Look at the change again.',
  },
  config_read_only: {
    status: 409,
    type: 'console',
    text: '{file} cannot be replaced here ({detail}): nothing was written. Download the patch instead.',
  },
  cross_site: {
    status: 403,
    type: 'console',
    text: 'Changes are taken from the console itself only: JSON, with the header x-tollgate: 1, from the same site.',
  },
  not_found: { status: 404, type: 'console', text: 'There is no such thing here, or it is not yours.' },
  method_not_allowed: { status: 405, type: 'console', text: '{path} does not support {method}. Use {allow}.' },
  conflict: { status: 409, type: 'console', text: '{why}' },
  picture_refused: { status: 502, type: 'console', text: 'The picture is not shown: {why}.' },
  too_large: { status: 413, type: 'console', text: 'The request is larger than this endpoint takes.' },
  busy: {
    status: 429,
    type: 'console',
    text: 'The gateway is busy with other requests of this kind: wait {seconds} s and try again.',
  },
  slow_down: { status: 429, type: 'console', text: 'Too many attempts: wait {seconds} s and try again.' },
  internal: { status: 500, type: 'console', text: 'Something went wrong here. The log has it under this request id.' },
  storage_unavailable: sharedRows.storage_unavailable,
} as const satisfies ErrorTable

export const fail = failures(consoleErrors)

/** A refusal that a client may repeat after a wait. */
export function failToWait(code: 'busy' | 'slow_down', waitMs: number) {
  const seconds = Math.ceil(waitMs / 1000)
  return fail(code, { seconds }, { retryAfterMs: seconds * 1000 })
}
