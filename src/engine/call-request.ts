import type { Body, Upstream } from '../domain/index.ts'
import type { Reach, Signer } from '../plugin-api/index.ts'
import type { Coding } from './codings.ts'
import type { ForeignPlace } from './foreign-url.ts'
import type { FixedQuery } from './fixed-query.ts'
import type { AnswerHeaders, Pool } from './upstream/index.ts'

/** Reads an upstream's answer. Chunks arrive only after `start` was called, in order, and never after `cut`. */
export type Sink = {
  data(chunk: Buffer): void
  end(): void
  cut(failure: Error): void
}

/** Where a request goes instead of its upstream: an address from an answer that `checkForeign` has allowed. */
export type Foreign = ForeignPlace & {
  /** The upstream's credentials are sent there too, because the configuration allows it. */
  readonly withCredential: boolean
}

/** One request to an upstream, with everything that is needed to send it. */
export type CallRequest = {
  readonly upstream: Upstream
  readonly method: string
  /** Path and query as the upstream gets them. */
  readonly path: string
  readonly foreign?: Foreign
  /** When it has to be over, by the clock's `tick`; absent for the upstream's own deadline. */
  readonly endsAt?: number
  /** Flat list of names and values. */
  readonly headers: string[]
  readonly body: Body
  /** Whether the socket may carry another request, and may have carried one. */
  readonly reuse: boolean
  /** The client's key: clients take turns when they wait for connections. */
  readonly payer?: string
  /** It requests another protocol: the answer may be a 101, and is then what comes until the connection ends. */
  readonly upgrade?: string
  /** It continues work that has begun: it is not refused when it has to wait for a connection. */
  readonly isFollowUp?: boolean
}

/** An answer in progress: one request to an upstream, or several. */
export type Call = {
  readonly upstream: Upstream
  /** Secrets of this request alone; absent if there are none. */
  readonly signed?: readonly string[] | undefined
  /** It was refused for an expired signature, and the next signature is another one. */
  readonly isOutdated: boolean
  /** Settles when the answer's head has arrived, or never will. */
  readonly head: Promise<AnswerHead>
  readonly reach: Reach
  /** Its answer is complete, and the system has its request to the last byte. */
  readonly isSent: boolean
  /** The part of its answer that arrived before it is read, if it is one request. */
  readonly early?: readonly Buffer[]
  /** Nothing follows what has arrived. */
  readonly isWhole?: boolean
  /** Begins to pass on the answer. */
  start(sink: Sink): void
  pause(): void
  resume(): void
  /** The client has left: the rest of the answer, once it has begun, has limited time. */
  leave(): void
  /** Ends it as its own deadline would, with the same error. */
  stop(failure: Error): void
  /** Abandons it; nothing more reaches the sink. */
  abort(reason: Error): void
}

/** The head of an answer. */
export type AnswerHead = {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The answer ends with its connection: nothing else marks its end. */
  readonly endsWithConnection: boolean
  /** The codings of the content, in order of application, although they were not requested. */
  readonly codings: readonly Coding[]
}

/** Where an upstream's requests go. */
export type Destination = {
  readonly origin: URL
  readonly prefix: string
  /** For the line `host`. */
  readonly host: string
  /** Appended to every path; absent if there is nothing. */
  readonly query?: FixedQuery | undefined
  /** Creates the credential of each request; absent if there is none to create. */
  readonly signer?: Signer | undefined
  /** The operator's own headers prevent reuse of a connection. */
  readonly closes: boolean
  readonly pool: Pool
}
