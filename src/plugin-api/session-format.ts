import type { Failure } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'

/** The meaning of an upstream message for the turns of a session. A turn is one response with its own charge. */
export type SessionSign =
  /** A turn has started, because of a client message or voice detection. */
  | { readonly kind: 'began'; readonly id: string }
  /**
   * A turn has ended. `failed`: it used only what it reports. `report`: its usage, in the shape of an event of a
   * stream; absent if the message itself is the report; null if the upstream reported no usage.
   */
  | { readonly kind: 'ended'; readonly id: string; readonly failed: boolean; readonly report?: Json | null }
  /** The session's second model has finished, for example a transcription of the input. `id`: '' if it has none. */
  | { readonly kind: 'second_ended'; readonly id: string; readonly failed: boolean }
  /**
   * New settings: the session's second model (null for none, undefined for no change) and the response's token limit.
   */
  | {
      readonly kind: 'settings'
      readonly secondModel: string | null | undefined
      readonly outputMax: number | undefined
    }
  /** The upstream refused the client's last message. */
  | { readonly kind: 'refused' }
  /** The upstream accepted the setup message. */
  | { readonly kind: 'ready' }
  /** The upstream has issued an id with which a later session can continue this one. */
  | { readonly kind: 'handle'; readonly id: string }

/** Reads the upstream messages of one session. */
export type SessionReader = { read(message: Json): readonly SessionSign[] }

/** How an upstream reports usage: for each turn, or as the total of the session. */
export type SessionUsage = 'turn' | 'running'

/** Messages of WebSocket sessions in an API format. */
export type SessionFormat = {
  /** Each upstream message with a meaning contains one of these texts; others are not parsed. */
  readonly upstreamWords: readonly string[]
  /** Each client message that starts a turn contains one of these texts. */
  readonly callerWords: readonly string[]
  /** A client message with one of these texts ends the session, because it may refer to another key's object. */
  readonly barredWords?: readonly string[]
  /** Whether turns of a session never overlap: a message during a turn ends it. */
  readonly isSerial?: true
  /** Subprotocols with keys or account names, which are not sent to the upstream. */
  readonly secretProtocol?: RegExp
  /**
   * Query parameters of the handshake that do not contain a model: a variant of the route, and a call started
   * elsewhere.
   */
  readonly query?: { readonly variant: string; readonly call: string }
  /** The format of the first client message, if it contains the model. Absent if the handshake's query contains it. */
  readonly setup?: SetupFormat
  createReader(usage: SessionUsage): SessionReader
  /** Builds the message for a gateway error. */
  error(failure: Failure, requestId: string): string
  /** Builds the message that cancels a running turn. The upstream then reports its usage. */
  cancel?(turn: string): string
  /** Builds the message that announces the end of the session. */
  goAway?(leftMs: number): string
}

/** The first client message of a session, with the model and the settings. */
export type SetupFormat = {
  /** The request in the message; undefined for any other message. */
  read(message: Json): JsonObject | undefined
  /** Builds the message from a request. */
  write(request: string): string
  /** The name of the model, without the format's prefix. */
  modelOf(request: JsonObject): string | undefined
  /** The token limit of each response. */
  outputMaxOf(request: JsonObject): number | undefined
  /** The id of the session to continue. */
  handleOf(request: JsonObject): string | undefined
}

type JsonObject = { readonly [name: string]: Json }

/** The request in a WebSocket message. */
export type MessageRequest = {
  readonly kind: 'request'
  /** Requests of one lane are answered in order. */
  readonly lane: string | undefined
  /** The id of the previous response, which may exist only on this connection. */
  readonly before: string | undefined
  /** Whether the upstream stores the response. */
  readonly isStored: boolean
  /** Whether the request only adds input, and expects no response yet. */
  readonly isWarmUp: boolean
  readonly body: JsonObject
  /** The body with the conversation instead of the previous response's id. */
  completed(items: readonly Json[]): JsonObject
  /** The items that the request adds to the conversation. */
  readonly items: readonly Json[]
}

/** WebSocket messages that are requests, in an API format. */
export type MessageFormat = {
  readRequest(message: JsonObject): MessageRequest | { readonly kind: 'unknown'; readonly name: string }
  /** The id of the response that an event completes, and the items that it adds; undefined for other events. */
  readEnd(event: JsonObject): { readonly id: string; readonly items: readonly Json[] } | undefined
  /** The events of the response to a warm-up request. */
  warmUp(id: string, body: JsonObject): readonly JsonObject[]
  error(failure: Failure): JsonObject
  onLane(event: JsonObject, lane: string): JsonObject
}
