import type { IncomingMessage } from 'node:http'
import type {
  Answer,
  Body,
  Counters,
  Failure,
  JobStore,
  KeyStatus,
  LogRow,
  ObjectStore,
  OpenSession,
} from '../domain/index.ts'
import type { ApiFormat, Head, Log, RequestContext } from '../plugin-api/index.ts'
import type { Clock, Connect, Ids, Random } from '../util/index.ts'
import type { BodyPace } from './body-reader.ts'
import type { LongTurn } from './event-loop-watch.ts'
import type { SenderParts } from './send-request.ts'
import type { CreateLinkSecret } from './stored-objects/upload-link.ts'
import type { ProxyOf, SignerOf } from './transport.ts'

/** A route that the gateway answers by itself. */
export type LocalAnswer = (context: RequestContext, body: Body) => Answer | Promise<Answer>

/** What the gateway gives its engine. */
export type EngineParts = {
  /** The API format of a route, by the route's name for it; for `by-caller` the client's. */
  dialect(name: string, head: Head): ApiFormat | undefined
  /** The API format of errors raised before a route is known. */
  guessApiFormat(path: string, headers: IncomingMessage['headers']): ApiFormat
  readonly local: ReadonlyMap<string, LocalAnswer>
  /** Turns an upstream's configured url into one that can be dialled. */
  resolveUrl(url: string): string
  /** A request has arrived. */
  began(): void
  /** An upstream's head arrived (status), or never did (null), after so many milliseconds. */
  upstreamAnswered(upstream: string, status: number | null, durationMs: number): void
  /** A request is sent again after a failure of this upstream. */
  retried(upstream: string, cause: string): void
  /** A request blocked the event loop for too long. */
  turnWasLong?(turn: LongTurn): void
  readonly trace?: SenderParts['trace'] | undefined
  /** The proxy of an upstream; undefined for none. */
  readonly proxyOf?: ProxyOf
  /** A request without a route has ended: why it was refused, or undefined if a preflight was answered. */
  unrouted?(failure: Failure | undefined, req: IncomingMessage): void
  /** Invalid data arrived instead of a request. */
  unread?(failure: Failure): void
  /** Receives the log row of every request with a route, once. */
  record(row: LogRow, context: RequestContext): void
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  /** Opens connections to upstreams; the engine's own by default. */
  readonly connect?: Connect | undefined
  /** Request signers of upstreams. */
  readonly signerOf?: SignerOf
  readonly log: Log
  /** Records of stored objects; without it nothing is recorded, and no request may name an object. */
  readonly objects?: ObjectStore
  /** Creates the secrets of links to uploads. */
  readonly createLinkSecret?: CreateLinkSecret
  /** Jobs that poll stored objects. */
  readonly openJobs?: Pick<JobStore, 'find'>
  /** Counts the limits of upstream keys; absent if they are not counted. */
  readonly counters?: Pick<Counters, 'take' | 'settle'>
  /** Called for each upstream key whose state has changed. */
  readonly keyChanged?: (status: KeyStatus, before: KeyStatus | undefined) => void
  /** A WebSocket session has opened. */
  sessionOpened?(session: OpenSession): void
  sessionClosed?(id: string): void
  /** How slow clients may be; tests shorten it. */
  readonly callers?: { readonly bodyPace?: BodyPace; readonly writeIdleMs?: number }
}
