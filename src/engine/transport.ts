import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import httpProxy from 'http-proxy-3'
import type { Dispatcher } from 'undici'
// These two files and not the whole package: it loads fetch, WebSocket and a cache, 30 ms at every start.
import buildConnector from 'undici/lib/core/connect.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import type { Body, Clock, Connect, Reach, Upstream } from '../kit/index.ts'
import { type Coding, parseCodings } from './codings.ts'
import { Deadlines, type Timed } from './deadlines.ts'
import { fail } from './errors.ts'
import { acceptInterim } from './interim.ts'

/** Interim answers (1xx) before the answer: any number, and together at most so many bytes. */
const interimBytesMax = 4 * 1024 * 1024
/** What the line of an interim answer counts for, beside its headers. */
const interimLineBytes = 24
const connectionsMax = 256
/**
 * Larger bodies are written piece by piece: undici takes a buffer for sent as soon as the socket has it, and would put the
 * next request behind what an upstream that answered early will never read.
 */
const wholeBytesMax = 65_536

/** What reads an upstream's answer. Chunks come only after `start` was called, in order, and never after `cut`. */
export type Sink = {
  data(chunk: Buffer): void
  end(): void
  cut(failure: Error): void
}

/** One request to an upstream, with everything that is needed to send it. */
export type CallRequest = {
  readonly upstream: Upstream
  readonly method: string
  /** Path and query as the upstream gets them. */
  readonly path: string
  /** Flat list of names and values. */
  readonly headers: string[]
  readonly body: Body
  /** Whether the socket may carry another request. */
  readonly reuse: boolean
}

/** The head of an answer. */
export type AnswerHead = {
  readonly status: number
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  /** The answer ends when the connection does: nothing says where it is complete. */
  readonly endsWithConnection: boolean
  /** What the content was packed with, in that order, though that was not asked for. */
  readonly codings: readonly Coding[]
}

/** Where an upstream's requests go. */
type Destination = { readonly origin: URL; readonly prefix: string; readonly pool: Pool }
type Options = { readonly call?: UpstreamCall }

/**
 * The only way out. http-proxy-3 is the frame; its own stream pass never runs, because ours stands before it and
 * returns true. Why: `docs/decisions/0013-our-transport.md`.
 */
export class Transport {
  readonly #proxy = httpProxy.createProxyServer({})
  readonly #pools = new Map<string, Pool>()
  readonly #destinations = new WeakMap<Upstream, Destination>()
  readonly #deadlines: Deadlines
  readonly #resolve: (url: string) => string
  readonly #connect: Connect | undefined

  /**
   * `resolve` turns an upstream's url as written (`simulator:NAME`) into one that can be dialled; `connect` dials it, and is
   * undici's by default.
   */
  constructor(resolve: (url: string) => string, clock: Clock, connect?: Connect) {
    this.#resolve = resolve
    this.#deadlines = new Deadlines(clock)
    this.#connect = connect
    this.#proxy.before('web', 'stream', this.#pass)
    this.#proxy.on('error', () => undefined)
  }

  /** Sends a request; resolves when the answer's head is there. @throws Failure upstream_* */
  send(req: IncomingMessage, res: ServerResponse, request: CallRequest): UpstreamCall {
    const call = new UpstreamCall(request, this.#deadlines)
    this.#proxy.web(req, res, { target: this.#destination(request.upstream).origin, call } as Options as object)
    return call
  }

  async close(): Promise<void> {
    for (const pool of this.#pools.values()) await pool.destroy()
    this.#pools.clear()
  }

  readonly #pass = (_req: IncomingMessage, _res: ServerResponse, options: object): true => {
    const { call } = options as Options
    if (!call) throw new Error('a request reached the proxy by another way than the transport')
    try {
      const { pool, prefix } = this.#destination(call.request.upstream)
      call.dispatch(pool, prefix)
    } catch (error) {
      call.fail(error as Error)
    }
    return true
  }

  /** Worked out once for each upstream of each plan. */
  #destination(upstream: Upstream): Destination {
    let destination = this.#destinations.get(upstream)
    if (!destination) {
      const url = new URL(this.#resolve(upstream.url))
      destination = {
        origin: new URL(url.origin),
        prefix: url.pathname.replace(/\/$/, ''),
        pool: this.#pool(url.origin, upstream),
      }
      this.#destinations.set(upstream, destination)
    }
    return destination
  }

  #pool(origin: string, upstream: Upstream): Pool {
    const name = `${origin} ${upstream.timeouts.connectMs}`
    let pool = this.#pools.get(name)
    if (!pool) {
      pool = new Pool(origin, {
        connections: connectionsMax,
        pipelining: 1,
        connect: patientConnector(this.#connector(upstream.timeouts.connectMs)),
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: 4_000,
        keepAliveMaxTimeout: 30_000,
        maxHeaderSize: 16_384,
        allowH2: false,
        useMilo: false,
      })
      this.#pools.set(name, pool)
    }
    return pool
  }

  #connector(timeoutMs: number): buildConnector.connector {
    const connect = this.#connect
    if (!connect) return buildConnector({ timeout: timeoutMs, allowH2: false })
    const open = async (options: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
      const { protocol, hostname: host, port } = options
      const to = { host, port: Number(port || defaultPorts[protocol]), isEncrypted: protocol === 'https:' }
      let socket: Socket
      try {
        socket = await connect(to, timeoutMs)
      } catch (error) {
        return callback(error as Error, null)
      }
      callback(null, socket)
    }
    return (options, callback) => void open(options, callback)
  }
}

const defaultPorts: { readonly [protocol: string]: number } = { 'http:': 80, 'https:': 443 }

/**
 * Connects, and keeps a socket readable after a write on it has failed: an upstream that answers early and closes
 * (413 while we upload) has its answer waiting in the receive buffer. Reading ends the socket soon enough.
 */
function patientConnector(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...args: buildConnector.CallbackArgs) => {
      const [error, socket] = args
      if (error || !socket) return callback(...args)
      makePatient(socket)
      callback(null, socket)
      if (!socket.destroyed) acceptInterim(socket)
    })
  }
}

type WriteCallback = (error?: Error | null) => void

function makePatient(socket: Socket): void {
  const swallow =
    (done: WriteCallback): WriteCallback =>
    error => {
      const { code } = (error ?? {}) as NodeJS.ErrnoException
      done(code === 'EPIPE' || code === 'ECONNRESET' ? null : error)
    }
  const write = socket._write.bind(socket)
  socket._write = (chunk, encoding, done) => write(chunk, encoding, swallow(done))
  const writev = socket._writev?.bind(socket)
  if (writev) socket._writev = (chunks, done) => writev(chunks, swallow(done))
}

/** A call under way: undici's handler on one side, the relay's sink on the other. Methods, not closures: one object a request. */
export class UpstreamCall implements Dispatcher.DispatchHandler, Timed {
  place = -1
  readonly request: CallRequest
  /** Settles when the answer's head has come, or never will. */
  readonly head: Promise<AnswerHead>
  reach: Reach = 'untouched'
  #resolveHead!: (head: AnswerHead) => void
  #rejectHead!: (error: Error) => void
  #controller: Dispatcher.DispatchController | undefined
  #sink: Sink | undefined
  #early: Buffer[] = []
  #ended = false
  #error: Error | undefined
  #aborted: Error | undefined
  #interimBytes = 0
  #paused = false
  #answered = false
  /** Bytes that Content-Length promises and that have not come; undefined where it promises none. */
  #owed: number | undefined
  #received = 0
  /** The caller has left, and the rest is read for the charge's sake. */
  #isLeft = false
  readonly #deadlines: Deadlines
  readonly #startedAt: number
  deadlineAt: number

  constructor(request: CallRequest, deadlines: Deadlines) {
    const { firstByteMs, totalMs } = request.upstream.timeouts
    this.request = request
    this.#deadlines = deadlines
    this.#startedAt = deadlines.clock.tick()
    this.deadlineAt = this.#startedAt + Math.min(firstByteMs, totalMs)
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve
      this.#rejectHead = reject
    })
    // Whoever awaits it sees the error; a call that nobody awaits any more must not take the process down.
    this.head.catch(() => undefined)
  }

  dispatch(pool: Pool, prefix: string): void {
    const { method, path, headers, body, upstream, reuse } = this.request
    this.#deadlines.watch(this)
    const options: Dispatcher.DispatchOptions = {
      path: joinPath(prefix, path),
      method,
      headers,
      headersTimeout: 0,
      bodyTimeout: upstream.timeouts.idleMs,
      reset: !reuse,
    }
    if (body.kind === 'json') {
      const { bytes } = body.json
      if (bytes.length > wholeBytesMax) {
        headers.push('content-length', String(bytes.length))
        options.body = Readable.from(slices(bytes), { objectMode: false, highWaterMark: wholeBytesMax })
      } else options.body = bytes
    } else if (body.kind === 'form') {
      const form = body.encode(body.parts)
      headers.push('content-type', form.contentType, 'content-length', String(form.bytes))
      options.body = form.open(true)
    } else if (body.kind === 'stream') options.body = body.source
    pool.dispatch(options, this)
  }

  /** Begins to hand over the answer. */
  start(sink: Sink): void {
    this.#sink = sink
    for (const chunk of this.#early) sink.data(chunk)
    this.#early = []
    if (this.#error) sink.cut(this.#error)
    else if (this.#ended) sink.end()
  }

  /** Ends the call as its own deadline would: whoever waits for the head, or for the rest, is told why. */
  stop(failure: Error): void {
    this.#giveUp(failure)
  }

  /** The caller has left: the rest of the answer, once it has begun, has only so long. */
  leave(): void {
    this.#isLeft = true
    if (this.#answered) this.#hasten()
  }

  #hasten(): void {
    const { afterLeaveMs } = this.request.upstream.timeouts
    this.deadlineAt = Math.min(this.deadlineAt, this.#deadlines.in(afterLeaveMs))
  }

  #giveUpSize(): void {
    const max = this.request.upstream.answerBytesMax
    this.#giveUp(fail('upstream_answer_too_large', { why: `it has more than ${max} bytes` }))
  }

  /** Gives the call up; the upstream's socket is closed. Nothing more reaches the sink. */
  abort(reason: Error): void {
    if (this.#ended || this.#error) return
    this.#aborted = reason
    this.#deadlines.forget(this)
    this.#rejectHead(reason)
    this.#sink = undefined
    this.#controller?.abort(reason)
  }

  pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#controller?.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#controller?.resume()
  }

  /** The call could not even be tried. */
  fail(error: Error): void {
    this.onResponseError(undefined, error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#aborted) controller.abort(this.#aborted)
    else this.reach = 'unknown'
  }

  onRequestUpgrade(controller: Dispatcher.DispatchController): void {
    this.#refuse(controller, 'it switched protocols unasked')
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: { readonly [name: string]: string | string[] | undefined },
  ): void {
    if (this.#aborted) return
    if (status >= 100 && status < 200) {
      this.#interimBytes += interimLineBytes + bytesOf(controller.rawHeaders)
      if (this.#interimBytes > interimBytesMax) this.#refuse(controller, 'interim answers without end')
      return
    }
    const codings = parseCodings(headers['content-encoding'])
    if (!codings) return this.#refuse(controller, 'a content-encoding that was not asked for and is not known')
    const wrong = findFault(status, headers)
    if (wrong) return this.#refuse(controller, wrong)
    this.reach = 'truncated'
    this.#answered = true
    const length = headers['content-length']
    this.#owed = typeof length === 'string' ? Number(length) : undefined
    this.deadlineAt = this.#startedAt + this.request.upstream.timeouts.totalMs
    if (this.#isLeft) this.#hasten()
    if (this.#owed !== undefined && this.#owed > this.request.upstream.answerBytesMax) return this.#giveUpSize()
    const hasBody = status !== 204 && status !== 304
    this.#resolveHead({
      status,
      headers,
      endsWithConnection: hasBody && endsWithConnection(headers),
      codings: hasBody ? codings : [],
    })
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#aborted) return
    if (this.#owed !== undefined) this.#owed -= chunk.length
    this.#received += chunk.length
    if (this.#received > this.request.upstream.answerBytesMax) return this.#giveUpSize()
    if (this.#sink) this.#sink.data(chunk)
    else this.#early.push(chunk)
  }

  onResponseEnd(): void {
    if (this.#aborted) return
    this.#deadlines.forget(this)
    this.#ended = true
    this.#sink?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#deadlines.forget(this)
    if (this.#aborted || this.#error || this.#ended) return
    // It closed without saying that it would, while we were reading slower than it wrote: all it promised is here.
    if (this.#owed === 0) return this.onResponseEnd()
    this.#error = describeFailure(error, this.reach, this.request.upstream)
    this.#rejectHead(this.#error)
    this.#sink?.cut(this.#error)
  }

  #refuse(controller: Dispatcher.DispatchController, reason: string): void {
    this.#giveUp(fail('upstream_invalid', { reason }), controller)
  }

  onDeadline(): void {
    const { firstByteMs, totalMs } = this.request.upstream.timeouts
    if (this.#answered) this.#giveUp(fail('deadline_exceeded', { ms: Math.round(this.deadlineAt - this.#startedAt) }))
    else this.#giveUp(fail('upstream_timeout', { ms: Math.min(firstByteMs, totalMs) }))
  }

  #giveUp(failure: Error, controller = this.#controller): void {
    if (this.#ended || this.#error || this.#aborted) return
    this.#deadlines.forget(this)
    this.#error = failure
    this.#rejectHead(failure)
    this.#sink?.cut(failure)
    this.#aborted = failure
    controller?.abort(failure)
  }
}

function bytesOf(rawHeaders: Dispatcher.DispatchController['rawHeaders']): number {
  if (!Array.isArray(rawHeaders)) return 0
  return rawHeaders.reduce<number>((sum, one) => sum + one.length, 0)
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += wholeBytesMax) yield bytes.subarray(at, at + wholeBytesMax)
}

/** `/v1` + `/v1/x` → `/v1/x`: a version that base address and path both carry is meant once. */
function joinPath(prefix: string, path: string): string {
  const last = prefix.slice(prefix.lastIndexOf('/'))
  return /^\/v\d\w*$/.test(last) && path.startsWith(`${last}/`) ? prefix.slice(0, -last.length) + path : prefix + path
}

/** What makes an answer's head unusable, if anything does. */
function findFault(
  status: number,
  headers: { readonly [name: string]: string | string[] | undefined },
): string | undefined {
  if (status < 200 || status > 599) return `status ${status}`
  const transfer = headers['transfer-encoding']
  if (transfer !== undefined) {
    if (typeof transfer !== 'string' || transfer.toLowerCase() !== 'chunked')
      return 'a transfer-encoding other than chunked'
    if (headers['content-length'] !== undefined) return 'both content-length and transfer-encoding'
  }
  if (Array.isArray(headers['content-length'])) return 'two content-lengths'
  if (status >= 300 && status < 400 && status !== 304) return `a redirect (${status}); redirects are not followed`
  return undefined
}

function endsWithConnection(headers: { readonly [name: string]: string | string[] | undefined }): boolean {
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
}

const connectCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EMFILE',
])

function describeFailure(error: Error, reach: Reach, upstream: Upstream): Error {
  const { code } = error as NodeJS.ErrnoException
  const extra = { cause: error }
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return fail('upstream_connect_timeout', { ms: upstream.timeouts.connectMs }, extra)
  if (reach === 'untouched' || (code !== undefined && connectCodes.has(code)))
    return fail('upstream_unreachable', { reason: code ?? error.name }, extra)
  if (code === 'UND_ERR_BODY_TIMEOUT') return fail('deadline_exceeded', { ms: upstream.timeouts.idleMs }, extra)
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code?.startsWith('HPE_'))
    return fail('upstream_invalid', { reason: 'it is not HTTP/1.1 as it should be' }, extra)
  return fail('upstream_cut', { reason: code ?? error.name }, extra)
}
