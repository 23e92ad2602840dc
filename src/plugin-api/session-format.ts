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
