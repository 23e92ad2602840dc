import type { Failure } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'

/** What a message of an upstream means for the turns of a session: a turn is one answer, which is charged by itself. */
export type SessionSign =
  /** A turn has begun, whether the caller wanted it or a voice was heard. */
  | { readonly kind: 'began'; readonly id: string }
  /** It is over. `failed`: nothing but what it reports was used. */
  | { readonly kind: 'ended'; readonly id: string; readonly failed: boolean }
  /** Work of the model that the session has next to its own is over: a transcription of what was heard. */
  | { readonly kind: 'beside'; readonly failed: boolean }
  /** What is in force from now on: the model next to the session's own (null: none), and the longest answer. */
  | { readonly kind: 'settings'; readonly beside: string | null | undefined; readonly outputMax: number | undefined }
  /** The upstream did not do what the caller wanted last. */
  | { readonly kind: 'refused' }

/** How the messages of a session on a WebSocket read in an API format. */
export type SessionFormat = {
  /** One of these texts is in each message of an upstream that means something; others are not parsed. */
  readonly upstreamWords: readonly string[]
  /** One of these texts is in each message of a caller that begins a turn. */
  readonly callerWords: readonly string[]
  /** Subprotocols that hold keys, or facts of an account: none goes to an upstream. */
  readonly secretProtocol?: RegExp
  /** @returns undefined for a message that only contains such a word */
  read(message: Json): SessionSign | undefined
  /** The message that reports an error of ours. */
  error(failure: Failure, requestId: string): string
  /** The message that ends a turn under way; its usage follows. */
  cancel?(turn: string): string
}

type JsonObject = { readonly [name: string]: Json }

/** A message that is a request. */
export type MessageRequest = {
  readonly kind: 'request'
  /** Requests of one lane are answered in order. */
  readonly lane: string | undefined
  /** The answer that it goes on from; it may be known to this connection alone. */
  readonly before: string | undefined
  /** The upstream keeps its answer. */
  readonly isStored: boolean
  /** Nothing is to be answered yet. */
  readonly isWarmUp: boolean
  readonly body: JsonObject
  /** The body with a conversation in place of the answer that it goes on from. */
  completed(items: readonly Json[]): JsonObject
  /** What it adds to the conversation. */
  readonly items: readonly Json[]
}

/** How messages of a WebSocket are requests in an API format. */
export type MessageFormat = {
  readRequest(message: JsonObject): MessageRequest | { readonly kind: 'unknown'; readonly name: string }
  /** The answer that an event completes, and what it adds to the conversation. */
  readEnd(event: JsonObject): { readonly id: string; readonly items: readonly Json[] } | undefined
  /** The events that answer a warm-up. */
  warmUp(id: string, body: JsonObject): readonly JsonObject[]
  error(failure: Failure): JsonObject
  onLane(event: JsonObject, lane: string): JsonObject
}
