import type { DeferredTraits } from './deferred.ts'
import type { ObjectTraits } from './stored-objects.ts'

/**
 * The traits of an operation that the handling of its requests depends on, from `src/operations`; absent ones are
 * false.
 */
export type OperationTraits = {
  /** Its responses are images, generated or edited. */
  readonly images?: 'new' | 'edited'
  /** Tools in its requests may make images. */
  readonly imageTools?: true
  /** Its streams report usage only if the request sets this in `stream_options`. */
  readonly usageOnDemand?: true
  /** The member whose value marks the end of the response, in streams that report the usage in a later event. */
  readonly usageBehind?: string
  /** The fields that limit the length of an answer in tokens: paths with dots. Absent if unknown. */
  readonly answerLimits?: readonly string[]
  /** The last event of its streams repeats the request and the answer, of any length. */
  readonly longLastEvent?: true
  /** Its responses are counted in tokens, which must have a price: only in tokens, or also in seconds. */
  readonly answersTokens?: 'only' | 'also'
  /** Its responses are vectors, which use no output tokens. */
  readonly answersVectors?: true
  /** Each of its answers reports the length of the recording. */
  readonly reportsSeconds?: true
  /** Its responses are one JSON object unless a stream was requested; any other response is invalid. */
  readonly answersObject?: true
  /** The field whose value requests a stream of events, if it is not `stream`. */
  readonly streamsWhen?: { readonly field: string; readonly is: string }
  /**
   * Upstreams store the input's tokens for a time, at a price: the request fields with the duration and the end, and
   * the default duration.
   */
  readonly storesTokens?: { readonly seconds: string; readonly until: string; readonly usualSeconds: number }
  /** Its use of objects that upstreams store. */
  readonly object?: ObjectTraits
  /** Its work may continue after the response. */
  readonly deferred?: DeferredTraits
  /**
   * A repeated request costs at most the text of a second response, so it may be sent again after a failure
   * (`retry_on`), unless one of these fields has a value: paths with dots. Absent if a repeat may buy more, or change
   * something.
   */
  readonly repeatable?: { readonly unless: readonly string[] }
  /** The field of its requests that names the model; absent for `model`. */
  readonly modelField?: string
  /** Each `{name}` of its path is one segment: an id of the upstream that the gateway does not know. */
  readonly segments?: true
  /** It is free: its models need no price, and no tokens are counted. */
  readonly free?: true
}

/** By the operations' names. */
export type OperationsByName = ReadonlyMap<string, OperationTraits>
