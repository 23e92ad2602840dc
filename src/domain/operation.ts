import type { DeferredTraits } from './deferred.ts'
import type { ObjectTraits } from './stored-objects.ts'

/** The traits of an operation that its requests' handling depends on, from `src/operations`; absent ones are false. */
export type OperationTraits = {
  /** Its responses are images, generated or edited. */
  readonly images?: 'new' | 'edited'
  /** Tools of its requests may make images. */
  readonly imageTools?: true
  /** Its streams report usage only if the request sets this in `stream_options`. */
  readonly usageOnDemand?: true
  /** The member whose value marks the end of the response, in streams whose usage comes in a later event. */
  readonly usageBehind?: string
  /** The fields by which its requests limit the length of an answer, in tokens: paths with dots. Absent where that is not known. */
  readonly answerLimits?: readonly string[]
  /** The last event of its streams repeats the request and the answer, however long they are. */
  readonly longLastEvent?: true
  /** Its responses are counted in tokens, which must have a price: only in tokens, or also in seconds. */
  readonly answersTokens?: 'only' | 'also'
  /** Each of its answers reports the length of the recording. */
  readonly reportsSeconds?: true
  /** Its responses are one JSON object unless a stream was requested; any other response is invalid. */
  readonly answersObject?: true
  /** The field whose value requests a stream of events, if it is not `stream`. */
  readonly streamsWhen?: { readonly field: string; readonly is: string }
  /** Upstreams store the input's tokens for a time, at a price: the request fields with the time, and the default. */
  readonly storesTokens?: { readonly seconds: string; readonly until: string; readonly usualSeconds: number }
  /** What it has to do with objects that upstreams keep. */
  readonly object?: ObjectTraits
  /** Its work may go on after the response. */
  readonly deferred?: DeferredTraits
  /**
   * A second response costs no more than the text of the first: after a failure the request may be repeated
   * (`retry_on`). Not if the request has a value in one of these fields: paths with dots. Absent if a repeat may buy
   * more, or change something.
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
