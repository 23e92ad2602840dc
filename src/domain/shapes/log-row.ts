import type { CacheResult } from '../answer-cache.ts'
import type { FailureValues } from '../errors.ts'
import type { AttemptRecord } from '../retry.ts'
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
  /** Fields of the body that were sent upstream, and those that were not. */
  forwarded: texts('forwarded'),
  dropped: texts('dropped'),
  clientRequestId: textOrNull('client_request_id'),
  inputTokens: wholeOrNull('input_tokens'),
  outputTokens: wholeOrNull('output_tokens'),
} as const

/**
 * The progress of a request, in milliseconds after it began; null for phases that it did not reach. Rows of earlier
 * versions have none.
 */
export const markMembers = {
  /** Its body was received. */
  received: wholeOrNull('received_ms'),
  /** All checks passed, all limits had room and its money was held: its upstream was called. */
  asked: wholeOrNull('asked_ms'),
  /** Its last repetition, to the same or another upstream. */
  askedAgain: wholeOrNull('asked_again_ms'),
  /** The first byte of the response was received. */
  firstByte: wholeOrNull('first_byte_ms'),
  /** The response was complete, and passed on as far as the client read it. */
  lastByte: wholeOrNull('last_byte_ms'),
  /** Its charge was durable, and its last bytes were released. */
  committed: wholeOrNull('committed_ms'),
} as const

export type Marks = Values<typeof markMembers>

/** One row of the request log. */
export type LogRow = Values<typeof logMembers> & {
  readonly marks: Marks | null
  /** The parameters of its error: which limit, how much, how long. Null for none. */
  readonly errorValues: FailureValues | null
  /** The upstream's message of a refusal, shortened, without keys and long quotations. */
  readonly upstreamSaid: string | null
  /** Its requests to upstreams, if there was more than one. */
  readonly attempts: readonly AttemptRecord[] | null
  /** The client's name for the model, if it is an alias of their group; absent otherwise. */
  readonly alias?: string | null
  /** Ids of its end user and tags, as stored; absent for none. */
  readonly attribution?: string | null
  /** The result of the answer cache; absent for models without a cache. */
  readonly cache?: CacheResult | null
  /** The amount that a hit saved, in micro-units. */
  readonly saved?: number | null
  /** The names for these ids, in listed rows. */
  readonly endUser?: string | null
  readonly tags?: readonly string[]
}

/** Defaults for rows of earlier versions, which did not store these members. */
export const unknownOfLogRow = { marks: null, errorValues: null, upstreamSaid: null, attempts: null } as const

/** Values for a request whose row was lost, of members that only the row had. */
export const lostOfLogRow = {
  status: null,
  forwarded: [],
  dropped: [],
  clientRequestId: null,
  inputTokens: null,
  outputTokens: null,
  ...unknownOfLogRow,
} as const
