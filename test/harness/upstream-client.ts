import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Test } from 'tap'
import { Deadlines } from '../../src/engine/deadlines.ts'
import {
  addressOf,
  type Connection,
  Dialler,
  type ParsedHead,
  Pool,
  type Waiter,
  type RequestQueue,
  writeHead,
} from '../../src/engine/upstream/index.ts'
import type { Connect } from '../../src/util/index.ts'
import { HandTime } from './hand-time.ts'

/** The request. */
export type Question = {
  readonly method?: string
  readonly path?: string
  readonly headers?: readonly string[]
  readonly body?: Buffer
  /** Replaces `body`. */
  readonly source?: Readable
  /** The length of `source`; undefined for chunks. */
  readonly bytes?: number
  readonly fresh?: boolean
  readonly onStart?: () => void
  readonly onHead?: (request: Asked) => void
  readonly onData?: (request: Asked, chunk: Buffer) => void
}

/** One request over the client, and all of its events, in order. */
export class Asked implements Waiter {
  readonly isFresh: boolean
  line: RequestQueue | undefined
  ahead: Waiter | undefined
  behind: Waiter | undefined
  turn = 0
  readonly told: string[] = []
  readonly interim: ParsedHead[] = []
  head: ParsedHead | undefined
  readonly chunks: Buffer[] = []
  error: Error | undefined
  connection: Connection | undefined
  /** Resolve when the request has begun, has its head, and has ended. */
  readonly started = Promise.withResolvers<void>()
  readonly headed = Promise.withResolvers<ParsedHead>()
  readonly over = Promise.withResolvers<this>()
  readonly #question: Question
  readonly #host: string

  constructor(question: Question, host: string) {
    this.#question = question
    this.#host = host
    this.isFresh = question.fresh ?? false
  }

  get body(): Buffer {
    return Buffer.concat(this.chunks)
  }

  onStart(connection: Connection): void {
    const { method = 'POST', path = '/', headers = [], body, source, bytes, onStart } = this.#question
    const head = writeHead({ method, path, host: this.#host, headers, reuse: !this.isFresh })
    this.told.push('start')
    this.connection = connection
    if (source) connection.sendStream(method, head, source, bytes, !this.isFresh)
    else connection.send(method, head, body, !this.isFresh)
    this.started.resolve()
    onStart?.()
  }

  onHead(head: ParsedHead): void {
    this.told.push(String(head.status))
    if (head.status < 200) return void this.interim.push(head)
    this.head = head
    this.headed.resolve(head)
    this.#question.onHead?.(this)
  }

  onData(chunk: Buffer): void {
    if (this.told.at(-1) !== 'data') this.told.push('data')
    this.chunks.push(chunk)
    this.#question.onData?.(this, chunk)
  }

  onEnd(): void {
    this.told.push('end')
    this.connection = undefined
    this.over.resolve(this)
  }

  onError(error: Error): void {
    this.told.push('error')
    this.connection = undefined
    this.error = error
    this.over.resolve(this)
  }
}

/** A pool in front of a server on plain sockets. */
export type Client = {
  readonly pool: Pool
  readonly clock: HandTime
  readonly deadlines: Deadlines
  /** The server's ends of all connections, in the order in which they were opened. */
  readonly sockets: readonly Socket[]
  readonly port: number
  readonly ask: (question?: Question) => Asked
  /** Sends a request, and waits for its end. */
  readonly answer: (question?: Question) => Promise<Asked>
}

export type ClientOptions = {
  readonly connectionsMax?: number
  readonly connect?: Connect
  readonly timeoutMs?: number
  readonly clock?: HandTime
  /** The origin of requests, in place of `http://127.0.0.1:PORT`. */
  readonly origin?: string
}

/** @param onRequest called with each complete request: `count` over all connections, `text` with its head and body */
export async function startClient(
  t: Test,
  onRequest: (socket: Socket, text: string, count: number) => unknown,
  options: ClientOptions = {},
): Promise<Client> {
  let count = 0
  const server = await listenRaw(t, socket => {
    let text = ''
    socket.on('data', bytes => {
      text += bytes.toString('latin1')
      const request = wholeRequest(text)
      if (request === undefined) return
      text = ''
      onRequest(socket, request, count++)
    })
  })
  return openClient(t, server, options)
}

/** A pool in front of a server that handles its connections itself. */
export function openClient(t: Test, server: RawServer, options: ClientOptions = {}): Client {
  const { port, sockets } = server
  const clock = options.clock ?? new HandTime()
  const deadlines = new Deadlines(clock)
  const url = new URL(options.origin ?? `http://127.0.0.1:${port}`)
  const dialler = new Dialler(addressOf(url), options.timeoutMs ?? 5_000, clock, options.connect)
  const pool = new Pool(dialler, deadlines, options.connectionsMax ?? 256)
  t.teardown(() => pool.close())
  const ask = (question: Question = {}): Asked => {
    const request = new Asked(question, url.host)
    pool.ask(request, clock.tick())
    return request
  }
  return { pool, clock, deadlines, sockets, port, ask, answer: question => ask(question).over.promise }
}

export type RawServer = { readonly server: Server; readonly port: number; readonly sockets: readonly Socket[] }

export async function listenRaw(t: Test, onSocket: (socket: Socket) => unknown): Promise<RawServer> {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.push(socket.setNoDelay(true).on('error', () => undefined))
    onSocket(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port, sockets }
}

function wholeRequest(text: string): string | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = text.slice(0, end).toLowerCase()
  if (head.includes('transfer-encoding: chunked')) return text.endsWith('0\r\n\r\n') ? text : undefined
  const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
  return text.length >= end + 4 + length ? text : undefined
}

/** Writes bytes in pieces of these lengths, each in a turn of its own. */
export async function writePieces(socket: Socket, bytes: Buffer, length: number): Promise<void> {
  for (let at = 0; at < bytes.length && !socket.destroyed; at += length)
    await new Promise<void>(resolve => {
      socket.write(bytes.subarray(at, at + length), () => setImmediate(resolve))
    })
}

/** Waits for a condition, checking it in each turn of the event loop. @throws Error after ten seconds */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 10_000
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
