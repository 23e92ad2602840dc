import type { IncomingMessage } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import httpProxy from 'http-proxy-3'
import type { Composed, Upstream } from '../domain/index.ts'
import type { Fetched, Signer, SignerHost } from '../plugin-api/index.ts'
import type { Clock, Connect, ProxyAddress } from '../util/index.ts'
import type { CallRequest, Destination, Foreign } from './call-request.ts'
import { Deadlines } from './deadlines.ts'
import { createFixedQuery } from './fixed-query.ts'
import { lookupOf } from './foreign-url.ts'
import { UpstreamResponseBody } from './upstream-response-body.ts'
import { addressOf, connectionsMax, Dialler, Pool, type PoolStatus } from './upstream/index.ts'
import { UpstreamCall } from './upstream-call.ts'

export type { AnswerHead, Call, Sink } from './call-request.ts'
export { UpstreamCall } from './upstream-call.ts'

/** The signer of an upstream, if it has one. */
export type SignerOf = (upstream: Upstream) => Signer | undefined

/** The proxy of an upstream for an address of its own, or out of its answers; undefined for none. */
export type ProxyOf = (upstream: Upstream, url: URL) => ProxyAddress | undefined

/** A request for a token. */
const mint: Omit<Upstream, 'url'> = {
  name: 'tokens',
  credential: [],
  headers: {},
  query: {},
  timeouts: { connectMs: 5_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 10_000, afterLeaveMs: 0 },
  answerBytesMax: 65_536,
  reuse: false,
  cooldown: { failures: 1, forMs: 1 },
}

const nothing = Buffer.alloc(0)

type Options = { readonly call?: UpstreamCall; readonly destination?: Destination }

/**
 * The only way out. Our HTTP client sends every request (`docs/decisions/0018-our-http-client.md`); http-proxy-3 opens
 * WebSockets, with our pass before its own `stream` pass (`docs/decisions/0028-websockets.md`).
 */
export class Transport {
  readonly #proxy = httpProxy.createProxyServer({})
  readonly #pools = new Map<string, Pool>()
  readonly #destinations = new WeakMap<Upstream, Destination>()
  readonly #deadlines: Deadlines
  readonly #resolve: (url: string) => string
  readonly #connect: Connect | undefined
  readonly #signerOf: SignerOf
  readonly #proxyOf: ProxyOf

  /**
   * `resolve` turns an upstream's configured url (`simulator:NAME`) into one that can be dialled; `connect` dials it,
   * instead of this machine's network; `signerOf` finds the signer of an upstream.
   */
  constructor(
    resolve: (url: string) => string,
    clock: Clock,
    connect?: Connect,
    signerOf: SignerOf = () => undefined,
    proxyOf: ProxyOf = () => undefined,
  ) {
    this.#resolve = resolve
    this.#proxyOf = proxyOf
    this.#signerOf = signerOf
    this.#deadlines = new Deadlines(clock)
    this.#connect = connect
    // The library's pass leaks sockets, has no deadline for the 101, and passes refusals on unchanged.
    this.#proxy.before('ws', 'stream', this.#pass)
    this.#proxy.on('error', () => undefined)
  }

  /** Opens a WebSocket for the client of `socket`; the head of its answer is a 101, or a refusal. */
  open(req: IncomingMessage, socket: Duplex, request: CallRequest): UpstreamCall {
    const destination = this.#destinationOf(request)
    const call = new UpstreamCall(request, this.#deadlines)
    const options: Options = { call, destination }
    this.#proxy.ws(req, socket, nothing, { target: destination.origin, ...options })
    return call
  }

  /** Sends a request; its `head` settles when the head of the answer has arrived, or never will. */
  send(request: CallRequest): UpstreamCall {
    const destination = this.#destinationOf(request)
    const call = new UpstreamCall(request, this.#deadlines)
    dispatch(call, destination)
    return call
  }

  /** A signer's own request, without an upstream's credential. @throws Failure upstream_* */
  readonly post: SignerHost['post'] = async (url, { headers, body }): Promise<Fetched> => {
    const { origin, pathname, search } = new URL(url)
    const call = this.send({
      upstream: { ...mint, url: origin },
      method: 'POST',
      path: pathname + search,
      headers: ['user-agent', 'tollgate', 'accept-encoding', 'identity', ...headers],
      body: composed(Buffer.from(body)),
      reuse: false,
    })
    const head = await call.head
    const chunks: Buffer[] = []
    for await (const chunk of new UpstreamResponseBody(call, mint.answerBytesMax, () => undefined))
      chunks.push(Buffer.from(chunk))
    return { status: head.status, headers: head.headers, body: Buffer.concat(chunks) }
  }

  async close(): Promise<void> {
    for (const pool of this.#pools.values()) pool.close()
    this.#pools.clear()
  }

  readonly #pass = (_req: IncomingMessage, _to: unknown, options: object): true => {
    const { call, destination } = options as Options
    if (!call || !destination) throw new Error('a request reached the proxy by another way than the transport')
    dispatch(call, destination)
    return true
  }

  /**
   * The connections to an upstream; undefined before the first request. Upstreams at one address share them, and so do
   * an upstream's keys.
   */
  statusOf(upstream: Upstream): PoolStatus | undefined {
    return this.#poolOf(upstream)?.status
  }

  /** Requests that were refused because too many waited for a connection, of all upstreams at that address. */
  turnedAway(upstream: Upstream): number {
    return this.#poolOf(upstream)?.turnedAway ?? 0
  }

  #poolOf(upstream: Upstream): Pool | undefined {
    const upstreams = [upstream, ...(upstream.keys ?? []).map(key => key.upstream)]
    return upstreams.map(one => this.#destinations.get(one)).find(destination => destination !== undefined)?.pool
  }

  #destinationOf({ foreign, upstream }: CallRequest): Destination {
    return foreign ? this.#foreignDestination(foreign, upstream) : this.#destination(upstream)
  }

  /** A connection of its own, which was not and will not be used for another request. */
  #foreignDestination(foreign: Foreign, upstream: Upstream): Destination {
    const { url, withCredential } = foreign
    const { connectMs } = upstream.timeouts
    const way = { proxy: this.#proxyOf(upstream, url), ...(foreign.sameOrigin && { ca: upstream.ca }) }
    const { clock } = this.#deadlines
    const dialler = new Dialler(addressOf(url), connectMs, clock, this.#connect, lookupOf(foreign), way)
    return {
      origin: new URL(url.origin),
      prefix: '',
      host: url.host,
      closes: true,
      ...(withCredential && { query: createFixedQuery(upstream), signer: this.#signer(upstream) }),
      pool: new Pool(dialler, this.#deadlines, 1),
    }
  }

  /** Computed once for each upstream of each configuration. */
  #destination(upstream: Upstream): Destination {
    let destination = this.#destinations.get(upstream)
    if (!destination) {
      const url = new URL(this.#resolve(upstream.url))
      const named = headerOf(upstream, 'host')
      destination = {
        origin: new URL(url.origin),
        prefix: url.pathname.replace(/\/$/, ''),
        host: named ?? url.host,
        closes: /(?:^|,)\s*close\s*(?:,|$)/i.test(headerOf(upstream, 'connection') ?? ''),
        query: createFixedQuery(upstream),
        signer: this.#signer(upstream),
        pool: this.#pool(url, named, upstream),
      }
      this.#destinations.set(upstream, destination)
    }
    return destination
  }

  /** A request that has to be signed is not sent unsigned. */
  #signer(upstream: Upstream): Signer | undefined {
    const signer = this.#signerOf(upstream)
    if (!signer && upstream.credential.some(({ kind }) => kind === 'sign'))
      throw new Error(`there is no request signer for upstream ${upstream.name}`)
    return signer
  }

  #pool(url: URL, named: string | undefined, upstream: Upstream): Pool {
    const { connections = connectionsMax, ca = '', timeouts } = upstream
    const { connectMs } = timeouts
    const proxy = this.#proxyOf(upstream, url)
    // As JSON, which no user name can imitate: another's tunnel has another's credentials.
    const name = JSON.stringify([url.origin, named, connectMs, connections, proxy, ca])
    let pool = this.#pools.get(name)
    if (!pool) {
      const way = { proxy, ca: upstream.ca }
      const { clock } = this.#deadlines
      const dialler = new Dialler(addressOf(url, named), connectMs, clock, this.#connect, undefined, way)
      pool = new Pool(dialler, this.#deadlines, connections)
      this.#pools.set(name, pool)
    }
    return pool
  }
}

/** What cannot be written is a failure of the call, not of the transport. */
function dispatch(call: UpstreamCall, destination: Destination): void {
  try {
    call.dispatch(destination)
  } catch (error) {
    call.fail(error as Error)
  }
}

/** A small body; its content type is among the headers. */
function composed(whole: Buffer): Composed {
  return { kind: 'composed', contentType: '', bytes: whole.length, whole, open: () => Readable.from([whole]) }
}

/** One of the operator's own headers, in any case. */
function headerOf({ headers }: Upstream, wanted: string): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1]
}
