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
  /** Fields of the body that went upstream, and those that did not. */
  forwarded: texts('forwarded'),
  dropped: texts('dropped'),
  clientRequestId: textOrNull('client_request_id'),
  inputTokens: wholeOrNull('input_tokens'),
  outputTokens: wholeOrNull('output_tokens'),
} as const

/**
 * How far a request had come, milliseconds after it began; null where it never came so far. Rows of earlier versions have
 * none of it.
 */
export const markMembers = {
  /** Its body was here. */
  received: wholeOrNull('received_ms'),
  /** Every check was passed, every limit had room and its money was held: its upstream was called. */
  asked: wholeOrNull('asked_ms'),
  /** It was sent once more, or to another upstream: the last time. */
  askedAgain: wholeOrNull('asked_again_ms'),
  /** The first byte of the answer was here. */
  firstByte: wholeOrNull('first_byte_ms'),
  /** The answer had come whole, and was passed on as far as its caller took it. */
  lastByte: wholeOrNull('last_byte_ms'),
  /** What it costs was durable, and its last bytes were let go. */
  committed: wholeOrNull('committed_ms'),
} as const

export type Marks = Values<typeof markMembers>

/** One row of the request log. */
export type LogRow = Values<typeof logMembers> & {
  readonly marks: Marks | null
  /** The values of its error: which limit, how much, how long. Null without any. */
  readonly errorValues: FailureValues | null
  /** What its upstream said when it refused: its words, clipped, without keys and without what it quotes at length. */
  readonly upstreamSaid: string | null
  /** Its requests to upstreams, if there was more than one. */
  readonly attempts: readonly AttemptRecord[] | null
  /** The client's name for the model, if it is an alias of their group; absent otherwise. */
  readonly alias?: string | null
  /** Ids of its end user and tags, as stored; absent without any. */
  readonly attribution?: string | null
  /** What the answer cache did; absent for models without a cache. */
  readonly cache?: CacheResult | null
  /** What a hit has not cost, in micro-units. */
  readonly saved?: number | null
  /** Their names, in rows that are listed. */
  readonly endUser?: string | null
  readonly tags?: readonly string[]
}

/** Of a row that an earlier version has written: what it did not keep. */
export const unknownOfLogRow = { marks: null, errorValues: null, upstreamSaid: null, attempts: null } as const

/** Of a request whose row was lost: what only that row said. */
export const lostOfLogRow = {
  status: null,
  forwarded: [],
  dropped: [],
  clientRequestId: null,
  inputTokens: null,
  outputTokens: null,
  ...unknownOfLogRow,
} as const
