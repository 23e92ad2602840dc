import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { CallerSocket, opensWebSocket } from '../engine/index.ts'
import { DirectRequest } from '../engine/direct-request.ts'
import type { Certificate } from './certificate.ts'
import { isLingering, lingerOnClose } from './linger.ts'
import type { Address, Answer } from '../domain/index.ts'
import { type Clock, type Member, IntrusiveSet } from '../util/index.ts'

/** `socket`: of a client that requests a WebSocket. The response is written to it unless the WebSocket opens. */
export type Listener = (req: IncomingMessage, res: ServerResponse, socket?: CallerSocket) => void

/** The time for a client to read the response to an invalid request. */
const lingerMs = 1_000

/** A response, which exists from the arrival of its request's head. */
class OwedResponse extends ServerResponse implements Member {
  place = -1
  /** Its position among all responses. On one connection, responses are in the order of their requests. */
  turn = 0
}

/** Node's defaults let slow clients occupy connections. */
const options = {
  IncomingMessage: DirectRequest as typeof IncomingMessage,
  headersTimeout: 10_000,
  requestTimeout: 300_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16_384,
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
  noDelay: true,
  // The front filter requires the header, and answers in the client's API format.
  requireHostHeader: false,
  insecureHTTPParser: false,
  joinDuplicateHeaders: false,
} as const

/** The server for clients. */
export type CallerServer = {
  readonly server: Server | TlsServer
  /** From now on, every response that has not begun closes its connection. */
  release(): void
}

/** Options of the server for clients. */
type CallerDoor = {
  /** Undefined for plain HTTP. */
  readonly certificate?: Certificate | undefined
  /** False for a connection over the limit, which is then closed. */
  readonly admits?: (socket: Socket) => boolean
  readonly clock: Pick<Clock, 'after'>
  /** Whether a path is that of a WebSocket; absent if there is none. */
  readonly isWebSocket?: (req: IncomingMessage) => boolean
}

/**
 * Creates the server for clients, with the limits of `docs/security.md#request-limits`. `refuse` answers invalid
 * requests, by the code of the error.
 */
export function createCallerServer(
  listener: Listener,
  refuse: (code: string | undefined) => Answer,
  { certificate, admits, clock, isWebSocket }: CallerDoor,
): CallerServer {
  /** Unfinished responses. */
  const owed = new IntrusiveSet<OwedResponse>()
  let turns = 0
  let released = false
  function leave(this: OwedResponse): void {
    owed.delete(this)
  }
  class LingeringResponse extends OwedResponse {
    /** Node calls this after the response was written, just before it closes a connection without keep-alive. */
    override detachSocket(socket: Socket): void {
      super.detachSocket(socket)
      if (!this.req.complete) lingerOnClose(this.req, socket, clock)
    }
  }
  const made = {
    ...options,
    ServerResponse: LingeringResponse as typeof ServerResponse,
    // Other upgrades, such as a POST that offers h2c, are handled as plain requests.
    shouldUpgradeCallback: (req: IncomingMessage) => opensWebSocket(req) && isWebSocket?.(req) === true,
  }
  const handle: Listener = (req, answer) => {
    // The server creates this class, as its options say.
    const res = answer as OwedResponse
    if (released) {
      // An earlier response closes the connection, so that this request counts as not received (RFC 9112 9.6).
      if (owedOn(owed, req.socket).some(before => !before.shouldKeepAlive)) return
      res.shouldKeepAlive = false
    }
    if (isLingering(req.socket)) return
    res.turn = turns++
    owed.add(res)
    res.on('close', leave)
    listener(req, res)
  }
  const server = certificate
    ? createTlsServer({ ...made, ...certificate.options, ALPNProtocols: ['http/1.1'] }, handle)
    : createServer(made, handle)
  if (server instanceof TlsServer) certificate?.follow(server)
  // Runs before Node's own listener, which reads.
  if (admits) server.prependListener('connection', (socket: Socket) => void admits(socket))
  server.maxHeadersCount = 200
  // A client that waits for `100 Continue` is only answered after its key was checked, or refused before it uploads.
  server.on('checkContinue', handle)
  server.on('checkExpectation', handle)
  server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    const caller = new CallerSocket(socket, head)
    // A pending response would be written between the frames.
    if (released || owedOn(owed, socket).length > 0) socket.destroy()
    else listener(req, openAnswer(req, socket), caller)
  })
  // Without a listener Node closes the connection without a response.
  server.on('connect', (_req, socket) => {
    socket.on('error', () => undefined)
    refuseRest(socket, owedOn(owed, socket), () => sendLast(socket, refuse('CONNECT'), clock))
  })
  const refused = new WeakSet<Duplex>()
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (refused.has(socket)) return
    refused.add(socket)
    const say = (): void => sendLast(socket, refuse(error.code), clock)
    refuseRest(socket, owedOn(owed, socket), say)
  })
  function release(): void {
    released = true
    // If a connection has several responses, the last one closes it. A response that has begun has announced a
    // persistent connection, so a proxy may send the next request as soon as it ends.
    const last = new Map<Duplex, OwedResponse>()
    owed.each(res => {
      const other = last.get(res.req.socket)
      if (!other || other.turn < res.turn) last.set(res.req.socket, res)
    })
    for (const res of last.values()) if (!res.headersSent) res.shouldKeepAlive = false
  }
  return { server, release }
}

/** The response object for a client whose WebSocket is refused, because Node provides none. */
function openAnswer(req: IncomingMessage, socket: Socket): ServerResponse {
  const res = new ServerResponse(req)
  res.shouldKeepAlive = false
  res.assignSocket(socket)
  res.once('finish', () => {
    res.detachSocket(socket)
    socket.destroySoon()
  })
  return res
}

/** Pending responses of one connection, in the order of their requests. */
function owedOn(owed: IntrusiveSet<OwedResponse>, socket: Duplex): readonly OwedResponse[] {
  const found: OwedResponse[] = []
  owed.each(res => void (res.req.socket === socket && found.push(res)))
  return found.toSorted((a, b) => a.turn - b.turn)
}

/**
 * Ends a connection after invalid data. Earlier complete requests get their responses first, because clients would read
 * an error as one of these. A request with an invalid body gets the error.
 */
function refuseRest(socket: Duplex, open: readonly ServerResponse[], say: () => void): void {
  const last = open.at(-1)
  if (!socket.writable) return void socket.destroy()
  if (!last) return say()
  if (last.req.complete) {
    socket.pause()
    last.once('finish', say)
    // Node does not count this connection any more, so that without this the server would never close.
    last.once('close', () => last.writableFinished || socket.destroy())
    return
  }
  if (open.length > 1 || last.headersSent) socket.destroy()
  else say()
}

/** Writes a response directly to the socket, and closes it. Further data from the client is ignored. */
function sendLast(socket: Duplex, { status, headers, body }: Answer, clock: Pick<Clock, 'after'>): void {
  const bytes = Buffer.from(body)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}`
  socket.end(`${head}content-length: ${bytes.length}\r\nconnection: close\r\n\r\n${bytes.toString()}`)
  const limit = clock.after(lingerMs, () => socket.destroy())
  socket.once('close', () => limit.cancel())
}

/**
 * Binds; resolves with the actual address (port 0: any free one). @throws Error if the address is in use or not local
 */
export async function bind(
  server: Server | TlsServer,
  address: Address,
): Promise<{ readonly host: string; readonly port: number; readonly url: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(address.port, address.host, resolve)
  await promise
  server.off('error', reject)
  const { address: host, port, family } = server.address() as AddressInfo
  return {
    host,
    port,
    url: `${server instanceof TlsServer ? 'https' : 'http'}://${family === 'IPv6' ? `[${host}]` : host}:${port}`,
  }
}

/**
 * Stops accepting connections; resolves when the last connection has ended. Unlike `close` of an HTTP server, it keeps
 * connections that have just opened, because their first request may be in transit, and its sender could not know
 * whether it was received.
 */
export function stopListening(server: Server | TlsServer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  NetServer.prototype.close.call(server, () => resolve())
  return promise
}

/** Ends idle connections, until `ended` settles. */
export async function endIdle(
  server: Server | TlsServer,
  ended: Promise<void>,
  clock: Pick<Clock, 'every'>,
): Promise<void> {
  server.closeIdleConnections()
  const sweep = clock.every(100, () => server.closeIdleConnections())
  await ended
  sweep.cancel()
  // No connections are left; the server's own close stops the timer for idle ones.
  server.close(() => undefined)
}

/** Closes a server after all its requests: idle connections at once, all others when they end. */
export async function unbind(server: Server | TlsServer, clock: Pick<Clock, 'every'>): Promise<void> {
  if (server.listening) await endIdle(server, stopListening(server), clock)
}
