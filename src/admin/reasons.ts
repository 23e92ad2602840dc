import { Failure, type FailExtra } from '../domain/index.ts'

/**
 * The reasons why a field is refused (`invalid`) or a change is impossible (`conflict`). The console has a text for
 * each name in its language (`refusal.NAME`); other clients get this text. Names are never changed.
 */
export const reasons = {
  missing: "'{field}' is missing.",
  field_unknown: "'{field}' is no field of this request.",
  field_twice: "'{field}' is sent twice.",
  unreadable: '{message}',
  request: 'The request {message}.',
  not_json: 'The body must be JSON: send it with the header Content-Type: application/json.',
  not_unicode: "'{field}' must be text in UTF-8, without halves of surrogate pairs.",
  malformed: "'{field}' {message}.",
  not_pattern: '\'{field}\' must match pattern "{pattern}".',
  not_moment: "'{field}' must be a moment such as 2026-11-21T08:00:00Z.",
  not_label: "'{field}' must have no line breaks and no invisible characters.",
  not_user_name: "'{field}' must begin with a letter or a digit, and go on with letters, digits, _ . @ or -.",
  not_chosen_name: "'{field}' must begin with a letter or a digit, and go on with letters, digits, _ . or -.",
  not_line: "'{field}' must be one line.",
  not_id: "'{field}' must be an id such as req_01m7z9rxtz00wap6t5eg.",
  not_position: "'{field}' must be the `next` of an earlier page.",
  not_decimal: `'{field}' must be a decimal of at most nine digits and six places, such as "12.50".`,
  not_allowed: "'{field}' must be equal to one of the allowed values: {allowed}.",
  too_short: "'{field}' needs at least {limit} characters.",
  too_long: "'{field}' may have at most {limit} characters.",
  too_few: "'{field}' needs at least {limit} items.",
  too_many: "'{field}' may have at most {limit} items.",
  too_small: "'{field}' must be {limit} or more.",
  too_large: "'{field}' must be {limit} or less.",
  host: 'The Host header is not a host and a port.',
  other_host:
    'This page is at {origin}, and its request came for {host}. Behind a reverse proxy: let the proxy send Host as the browser did (nginx: proxy_set_header Host $http_host), or name it in server.trusted_proxies and let it send X-Forwarded-Host.',
  address: "'{address}' is not an address such as 203.0.113.7 or 2001:db8::/32.",
  passed: 'This moment has passed.',
  resets_on: 'Give budget_resets_on with budget_period: a weekday with week, 1 to 28 with month, null with others.',
  model_unknown: "There is no model '{model}' in the configuration.",
  group_unknown: "There is no group '{group}'. The configuration has {known}.",
  group_gone: "The group '{group}' is gone from the configuration. Request another invitation.",
  user_exists: 'there is a user named {name} already',
  token_exists: 'there is an admin token named {name} already: revoke it first, or choose another name',
  name_shared: 'several keys of {user} are named {name}: use their ids, or rename or revoke all but one',
  user_unknown: 'there is no user named {name}; create it first',
  name_alike: 'this name could be taken for {name}: choose another one',
  name_erased: 'a user called {name} was erased, and the ledger still has charges under that name: choose another one',
  erases_self: '{name} cannot erase themselves: another administrator can, or the command line',
  erases_local: 'local is not a person: it owns keys without a user. Revoke those (tollgate keys revoke)',
  erase_busy:
    '{name} has {count} requests or jobs that have not ended, and nothing was erased yet. The user is disabled and the keys are revoked, so that none begins: erase again when these have ended. What a gateway left that is gone is ended by the next one that runs',
  last_admin: '{name} is the last administrator who can sign in: make another one first',
  self: 'You cannot disable yourself or take away your own role; another administrator can.',
  own_password: 'Your own password is changed by POST /api/account/password, with the current one.',
  password_current: 'The current password is not this one.',
  password_common: 'This password is guessed early: choose one that is not a common one or the name.',
  only_way_in: 'This is the only way in that you have. An administrator can set a password for you.',
  setup_done: 'There is an administrator already: log in.',
  views_full: 'There are {max} views of this page already. Delete one first.',
  setup_link: 'This setup link is not valid any more. Start the gateway again: it prints a new one.',
  invited_as: 'This invitation is for {name}.',
  amount: 'An amount over 0 is needed.',
  revoked: 'This key is revoked; make a new one.',
  refunded: 'There is nothing left of this charge to give back.',
  refund_left: 'Only {left} of this charge is left to refund.',
  refund_since: '{refunded} of this charge was refunded in the meantime.',
  topup_since: 'The balance was topped up in the meantime: {paid_in} is paid in.',
  resolved: 'This charge does not need review, or less was held for it.',
  range: 'A range has at most {days} days.',
  range_hour: 'A range has at most {days} days where bars are of one hour.',
  range_day: 'A range has at most {days} days where bars are of one day.',
  range_month: 'A range has at most {days} days where bars are of one month.',
  since_late: '`since` must not be after `until`.',
  range_backward: '`from` must not be after `to`.',
  labels_together: 'Costs are not kept by `end_user` and `tag` together: leave one out.',
  statement_labels: 'A statement of an end user or a tag has no split (`by`) and no balances (`of`): leave one out.',
  zone: '`zone` must be a time zone such as Europe/Berlin.',
  day: '`{field}` must be a day such as 2026-11-21, from 1970 to 9998.',
  month: '`{field}` must be a month such as 2026-11, from 1970 to 9998.',
  not_kept:
    'The prices of this configuration cannot be read again: a file of it was too long to be kept, or what they came from is another now (a variable, a secret).',
  span: '`since` must be given with `until`, and before it.',
  edit: '{why}',
  text_or_edits: 'Either `text` or `edits` is needed, and not both.',
  kind: 'kinds: {kind} is none of {known}',
  processes: 'Several processes serve: save the file, or send SIGHUP to the one that started them.',
  file: 'The file {file} cannot be read.',
} as const

export type Reason = keyof typeof reasons
type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
type Values<R extends Reason> = { readonly [Name in Names<(typeof reasons)[R]>]: string | number }

const statuses = { invalid: 400, conflict: 409, cross_site: 403 } as const

/**
 * Creates the refusal for a reason. The values fill the text and are part of the refusal. `param`: the invalid field.
 */
export function refuse<R extends Reason>(
  code: keyof typeof statuses,
  reason: R,
  values: Values<R>,
  extra: Pick<FailExtra, 'param' | 'cause'> = {},
): Failure {
  const known: { readonly [name: string]: string | number } = values
  const message = reasons[reason].replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(known[name] ?? whole))
  const row = { status: statuses[code], type: 'console', text: message }
  return new Failure(code, row, message, { ...extra, values: { ...known, reason } })
}
