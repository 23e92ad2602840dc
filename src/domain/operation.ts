import type { DeferredTraits } from './deferred.ts'
import type { ObjectTraits } from './stored-objects.ts'

/** The traits of an operation that a request's handling depends on, from `src/operations`; absent ones are false. */
export type OperationTraits = {
  /** Its answers are images: new ones, or others edited. */
  readonly images?: 'new' | 'edited'
  /** Tools of its requests may make images. */
  readonly imageTools?: true
  /** Its streams report their use only if the request has it set, in `stream_options`. */
  readonly usageOnDemand?: true
  /** The member whose value marks the end of an answer, in streams with a later event of their own for the usage. */
  readonly usageBehind?: string
  /** The fields by which its requests limit the length of an answer, in tokens: paths with dots. Absent where that is not known. */
  readonly answerLimits?: readonly string[]
  /** The last event of its streams repeats the request and the answer, however long they are. */
  readonly longLastEvent?: true
  /** Its answers are counted in tokens, which have to have a price: in nothing else, or in seconds as well. */
  readonly answersTokens?: 'only' | 'also'
  /** Each of its answers reports the length of the recording. */
  readonly reportsSeconds?: true
  /** Its answers are one JSON object unless a stream was requested: nothing else is an answer. */
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
   * A second answer costs no more than the first one's text: after a failure it may be requested again (`retry_on`). Not if
   * the request has a value in one of these fields: paths with dots. Absent where a repeat may buy more, or change something.
   */
  readonly repeatable?: { readonly unless: readonly string[] }
  /** The field of its requests that names the model; absent for `model`. */
  readonly modelField?: string
  /** Each `{name}` of its path is one segment: the upstream's own ids, which the gateway does not know. */
  readonly segments?: true
  /** It costs nothing: its models need no price, and no tokens are counted. */
  readonly free?: true
}

/** By the operations' names. */
export type OperationsByName = ReadonlyMap<string, OperationTraits>
