import { oneOf, rounded, moment, text, textOrNull, texts, type Values, wholeOrNull } from './member.ts'

/** The members of a row of the request log, in the order of its columns. */
export const logMembers = {
  id: text('id'),
  /** Milliseconds since the epoch. */
  time: moment('time'),
  keyId: textOrNull('key_id'),
  user: textOrNull('user_name'),
  group: textOrNull('group_name'),
  model: textOrNull('model'),
  operation: text('operation'),
  status: wholeOrNull('status'),
  outcome: oneOf('outcome', ['answered', 'refused', 'caller_gone', 'upstream_cut', 'deadline']),
  errorCode: textOrNull('error_code'),
  durationMs: rounded('duration_ms'),
  upstream: textOrNull('upstream'),
  configRevision: text('config_revision'),
  /** Fields of the body that went upstream, and those that did not. */
  forwarded: texts('forwarded'),
  dropped: texts('dropped'),
  clientRequestId: textOrNull('client_request_id'),
  inputTokens: wholeOrNull('input_tokens'),
  outputTokens: wholeOrNull('output_tokens'),
} as const

/** One row of the request log. */
export type LogRow = Values<typeof logMembers>

/** Of a request whose row was lost: what only that row said. */
export const lostOfLogRow = {
  status: null,
  forwarded: [],
  dropped: [],
  clientRequestId: null,
  inputTokens: null,
  outputTokens: null,
} as const
