import type { Failure } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'
import type { Head } from './head.ts'
import type { Answer } from '../domain/reply.ts'
import type { MessageFormat, SessionFormat } from './session-format.ts'
import type { ObjectListPage, ObjectListQuery } from '../domain/stored-objects.ts'
import type { Usage } from '../domain/usage.ts'

/** The API format of one vendor: the place of the key, the form of errors, and so on. */
export type ApiFormat = {
  readonly name: string
  /** Lower-case request headers of clients that upstreams with this format understand. */
  readonly requestHeaders: readonly string[]
  /** Default values of these headers, sent if the client sends none. */
  readonly requestDefaults?: { readonly [name: string]: string }
  /** Lower-case response headers of upstreams that clients of this format read. */
  readonly replyHeaders: ReadonlySet<string>
  /** All keys in the request, in the order of their headers. More than one distinct value is an error of the client. */
  credentials(head: Head): readonly string[]
  /**
   * The place of the key in requests, for the error about a missing or invalid key. Absent for `authorization` and
   * `x-api-key`.
   */
  readonly keyPlaces?: string
  /** An error in the form that SDKs of this format read. */
  error(failure: Failure, requestId: string): Answer
  /**
   * The bytes after which a reader of a started stream raises an error; undefined if the format has none. `operation`
   * is the route's.
   */
  streamError(failure: Failure, requestId: string, operation: string): string | undefined
  /** The form of the response to a streaming request; absent if it is always events. */
  streamForm?(head: Head): 'events' | 'list'
  /** Bytes that keep a stream alive between two events; undefined if the format has none. */
  readonly heartbeat: string | undefined
  /** The beginning of a stream's last event: its first line. Absent if no event marks the end. */
  readonly lastEvents?: readonly string[]
  /**
   * The usage that a whole response reports; null if it reports none. `operation` is the route's. `body` is the
   * response as JSON, which may be reduced to the members that matter. `before` is the stored object that the request
   * changed.
   */
  usageOf(operation: string, body: Json, before?: Json): Usage | null
  /** The usage that one event of a stream reports. Later reports replace earlier ones member by member. */
  usageOfEvent(operation: string, data: Json): Usage | null
  /** The message format of WebSocket sessions; absent if the format has none. */
  readonly session?: SessionFormat
  /** The format of WebSocket messages that are requests; absent if the format has none. */
  readonly messages?: MessageFormat
  /** The JSON of the model list and of one model. The query contains the format's paging parameters. */
  modelList(models: readonly ListedModel[], query: string): object
  modelOne(model: ListedModel): object
  /** Lists of stored objects: the page that a query requests, and the JSON of the list. */
  readonly objectList: {
    query(query: string): ObjectListQuery
    page(page: ObjectListPage): object
  }
  /** The limit headers of this format. */
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

/** An offered model. */
export type ListedModel = {
  readonly name: string
  readonly family: string
  /** The operations that it supports. */
  readonly operations: readonly string[]
  /** The day from which its vendor no longer serves it, as `2026-12-01`; absent if unknown. */
  readonly ends?: string
  /** The time since which this gateway offers it, in milliseconds since the epoch. */
  readonly since: number
}
