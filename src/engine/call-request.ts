import type { Body, Upstream } from '../domain/index.ts'
import type { Reach, Signer } from '../plugin-api/index.ts'
import type { Coding } from './codings.ts'
import type { ForeignPlace } from './foreign-url.ts'
import type { FixedQuery } from './fixed-query.ts'
import type { AnswerHeaders, Pool } from './upstream/index.ts'

/** What reads an upstream's answer. Chunks come only after `start` was called, in order, and never after `cut`. */
export type Sink = {
  data(chunk: Buffer): void
  end(): void
  cut(failure: Error): void
}

/** Where a request goes instead of its upstream: an address out of an answer that `checkForeign` has allowed. */
export type Foreign = ForeignPlace & {
  /** The upstream's credentials go there too, because the file says so. */
  readonly withCredential: boolean
}

/** One request to an upstream, with everything that is needed to send it. */
export type CallRequest = {
  readonly upstream: Upstream
  readonly method: string
  /** Path and query as the upstream gets them. */
  readonly path: string
  readonly foreign?: Foreign
  /** Flat list of names and values. */
  readonly headers: string[]
  readonly body: Body
  /** Whether the socket may carry another request, and may have carried one. */
  readonly reuse: boolean
  /** The client's key, for turns where connections are waited for. */
  readonly payer?: string
  /** It asks for another protocol: the answer may be a 101, and is then what comes until the connection ends. */
  readonly upgrade?: string
  /** It continues work that was begun: where connections are waited for it is not turned away. */
  readonly isFollowUp?: boolean
}

/** An answer under way: one request to an upstream, or several. */
export type Call = {
  readonly upstream: Upstream
  /** Secrets that were made for this request alone; absent where nothing was. */
  readonly signed?: readonly string[] | undefined
  /** It was refused for a signature that is good no more, and the next one is another. */
  readonly isOutdated: boolean
  /** Settles when the answer's head has come, or never will. */
  readonly head: Promise<AnswerHead>
  readonly reach: Reach
  /** Its answer has come whole, and its request is with the system, to the last byte. */
  readonly isSent: boolean
  /** What of its answer has come before it is read, where it is one request. */
  readonly early?: readonly Buffer[]
  /** Nothing follows what has come. */
  readonly isWhole?: boolean
  /** Begins to hand over the answer. */
  start(sink: Sink): void
  pause(): void
  resume(): void
  /** The caller has left: the rest of the answer, once it has begun, has only so long. */
  leave(): void
  /** Ends it as its own deadline would, with the same error. */
  stop(failure: Error): void
  /** Gives it up; nothing more reaches the sink. */
  abort(reason: Error): void
}

/** The head of an answer. */
export type AnswerHead = {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The answer ends when the connection does: nothing says where it is complete. */
  readonly endsWithConnection: boolean
  /** What the content was packed with, in that order, though that was not requested. */
  readonly codings: readonly Coding[]
}

/** Where an upstream's requests go. */
export type Destination = {
  readonly origin: URL
  readonly prefix: string
  /** For the line `host`. */
  readonly host: string
  /** What every path is given; absent for nothing. */
  readonly query?: FixedQuery | undefined
  /** Makes what goes with each request; absent where nothing is made. */
  readonly signer?: Signer | undefined
  /** The operator's own headers forbid that a connection is used again. */
  readonly closes: boolean
  readonly pool: Pool
}
