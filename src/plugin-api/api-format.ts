import type { Failure } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'
import type { Head } from './head.ts'
import type { Answer } from '../domain/reply.ts'
import type { MessageFormat, SessionFormat } from './session-format.ts'
import type { ObjectListPage, ObjectListQuery } from '../domain/stored-objects.ts'
import type { Usage } from '../domain/usage.ts'

/** The API format of one vendor: where the key is, what errors look like. */
export type ApiFormat = {
  readonly name: string
  /** Of the caller's headers, those that upstreams of this style understand; lower-case. */
  readonly requestHeaders: readonly string[]
  /** What upstreams are sent of these where the caller sends nothing. */
  readonly requestDefaults?: { readonly [name: string]: string }
  /** Of an upstream's headers, those that this style's callers read; lower-case. */
  readonly replyHeaders: ReadonlySet<string>
  /** Every key presented, in the order of their headers; more than one distinct value is the caller's fault. */
  credentials(head: Head): readonly string[]
  /** Where this style's callers put their key, for who sent none that is good; absent for `authorization` and `x-api-key`. */
  readonly keyPlaces?: string
  /** An error as this style's SDKs read it. */
  error(failure: Failure, requestId: string): Answer
  /**
   * The bytes that make a stream's reader raise an error after it has begun; undefined when the style has none.
   * `operation` is the route's.
   */
  streamError(failure: Failure, requestId: string, operation: string): string | undefined
  /** The form of an answer to a request for a stream; absent if it is always events. */
  streamForm?(head: Head): 'events' | 'list'
  /** What may be sent between two events to keep a stream alive; undefined if the format has nothing for it. */
  readonly heartbeat: string | undefined
  /** The beginning of a stream's last event: its first line. Absent if no event marks the end. */
  readonly lastEvents?: readonly string[]
  /**
   * What a whole answer reports as used; null where it reports nothing. `operation` is the route's, `body` the answer as
   * JSON (only the members that matter need be there), `before` the stored object that the request changed.
   */
  usageOf(operation: string, body: Json, before?: Json): Usage | null
  /** What one event of a stream reports: later reports replace earlier ones, member by member. */
  usageOfEvent(operation: string, data: Json): Usage | null
  /** How sessions on a WebSocket read; absent where the style has none. */
  readonly session?: SessionFormat
  /** How messages of a WebSocket are requests; absent where the style has none. */
  readonly messages?: MessageFormat
  /** The models on offer, and one of them, as this style lists them; the query holds the style's own paging. */
  modelList(models: readonly ListedModel[], query: string): object
  modelOne(model: ListedModel): object
  /** Lists of stored objects: the page that a query requests, and its JSON. */
  readonly objectList: {
    query(query: string): ObjectListQuery
    page(page: ObjectListPage): object
  }
  /** The limit headers of this style. */
  limitHeaders(limits: readonly LimitState[], nowMs: number): { readonly [name: string]: string }
}

/** The state of the tightest limit of a kind after a request was counted. */
export type LimitState = {
  readonly kind: 'requests' | 'tokens'
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the whole limit is free again. */
  readonly resetMs: number
}

/** A model on offer. */
export type ListedModel = {
  readonly name: string
  readonly family: string
  /** The operations that it offers. */
  readonly operations: readonly string[]
  /** The day from which its vendor no longer serves it, `2026-12-01`; absent if unknown. */
  readonly ends?: string
  /** Milliseconds since the epoch: when this gateway began to offer it. */
  readonly since: number
}
