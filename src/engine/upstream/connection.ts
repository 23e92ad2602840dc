import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Member } from '../../util/index.ts'
import { AnswerReader, type Reading } from './read-answer.ts'
import type { ParsedHead } from './parse-head.ts'
import { keepReadable } from './keep-readable.ts'
import { allocatePiece, common, largeBytes } from './read-memory.ts'
import { type BodySender, PieceSender, StreamSender } from './send-body.ts'
import { ConnectionClosed } from './wire-fault.ts'
import { framing } from './write-head.ts'

/**
 * One request and its answer. Calls come in this order: `onStart`, once; `onHead`, for each interim answer and then for
 * the answer; `onData` any number of times; `onEnd` or, at any time, `onError`. Nothing follows either, or after it
 * released the connection.
 */
export type WireCall = {
  /** It has the connection, and writes its request; no byte of it was written before. */
  onStart(connection: Connection): void
  /** `bytes`: the length of the head on the wire. */
  onHead(head: ParsedHead, bytes: number): void
  /** The chunk belongs to the receiver. */
  onData(chunk: Buffer): void
  /** @param isSent nothing of the request waits to be written any more */
  onEnd(isSent: boolean): void
  onError(error: Error): void
}

/** Events of a connection for its owner. */
export type ConnectionOwner = {
  /** Its answer was read; it may carry another request. */
  onRest(connection: Connection): void
  /** It is closed, or about to be, and carries nothing more. */
  onGone(connection: Connection): void
}

/** Up to this size a head and its body are one piece of memory; larger ones are written as two. */
const joinedBytesMax = 16_384
/** Larger bodies are written piece by piece. */
const wholeBytesMax = 65_536

/** A connection to an upstream: one request at a time, and its answer. */
export class Connection implements Member, Reading {
  place = -1
  /** By the clock's `tick`: since when it has been idle, and until when it may be used. */
  idleSince = 0
  idleUntil = 0
  /** How long the upstream keeps it idle, if it reports that. */
  keptMs: number | undefined
  readonly #owner: ConnectionOwner
  readonly #reader = new AnswerReader(this)
  #socket: Socket | undefined
  #current: WireCall | undefined
  #sender: BodySender | undefined
  /** The current request allows another one after it. */
  #reuse = false
  /** A write was lost: the upstream's end of the request is unknown. */
  #isDeaf = false
  #isGone = false
  #isPaused = false
  #error: Error | undefined
  /** Memory that the socket reads into, if it is not the common one. */
  #piece: Buffer | undefined

  constructor(owner: ConnectionOwner) {
    this.#owner = owner
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Takes over a connected socket. One that reads into `nextMemory` has no events of its own for what it reads. */
  open(socket: Socket, readsItself: boolean): void {
    this.#socket = socket
    // It was abandoned while it was opened.
    if (this.#isGone) return void socket.on('error', () => undefined).destroy()
    keepReadable(socket, this.#onDeaf)
    socket.on('error', this.#onError).on('end', this.#onEnd).on('close', this.#onClose).on('drain', this.#onDrain)
    if (!readsItself) socket.on('data', this.#onData)
    if (socket.destroyed) this.#lose()
  }

  /**
   * The socket's next read buffer: memory of its own for a piece that is passed on without a copy, else the common one.
   */
  nextMemory(): Buffer {
    if (this.#piece) return this.#piece
    const expected = this.#current ? this.#reader.expectedBytes : 0
    if (expected < largeBytes) return common
    this.#piece = allocatePiece(expected, this.#reader.lastReadBytes)
    return this.#piece
  }

  /** So many bytes are at the beginning of the memory from `nextMemory`. */
  onRead(bytes: number, memory: Buffer): void {
    const read = bytes === memory.length ? memory : memory.subarray(0, bytes)
    // Half empty, it would hold twice the memory that is used.
    const isHandedOn = memory === this.#piece && bytes * 2 >= memory.length
    if (isHandedOn) this.#piece = undefined
    this.#take(read, isHandedOn)
  }

  readonly #onData = (bytes: Buffer): void => this.#take(bytes, true)

  /** @param isOwn the memory belongs to the receiver alone */
  #take(bytes: Buffer, isOwn: boolean): void {
    // Bytes without a request are discarded.
    if (!this.#current) return this.close()
    try {
      this.#reader.read(bytes, isOwn)
    } catch (error) {
      this.break(error as Error)
    }
    if (!this.#current) this.#piece = undefined
  }

  /** Assigns it to a request. */
  begin(call: WireCall): void {
    this.#current = call
    this.#sender = undefined
    try {
      call.onStart(this)
    } catch (error) {
      this.break(error as Error)
    }
  }

  /** Writes a request with a complete body, or without one. Call it once, from `onStart`. */
  send(method: string, head: string, body: Buffer | undefined, reuse: boolean): void {
    const socket = this.#start(method, reuse)
    if (!body) {
      const expectsBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
      socket.write(head + (expectsBody ? framing.counted(0) : framing.none), 'latin1')
    } else if (body.length > wholeBytesMax) this.#sender = new PieceSender(socket, head, body)
    else sendWhole(socket, head + framing.counted(body.length), body)
  }

  /**
   * Writes a request whose body is read or made meanwhile; of unknown length without `bytes`. Call it once, from
   * `onStart`.
   */
  sendStream(method: string, head: string, source: Readable, bytes: number | undefined, reuse: boolean): void {
    this.#sender = new StreamSender(this.#start(method, reuse), head, source, bytes, this.#onSourceError)
  }

  /** Writes a request for another protocol. To be called once, from `onStart`. */
  sendUpgrade(method: string, head: string): void {
    this.#start(method, false, true).write(head + framing.none, 'latin1')
  }

  /** Writes what follows a 101. @param hasRoom called when there is room again @returns whether there is room for more */
  write(bytes: Buffer, hasRoom: () => void): boolean {
    this.#sender = { isDone: true, goOn: hasRoom, stop: () => undefined }
    return this.#socket?.write(bytes) !== false
  }

  #start(method: string, reuse: boolean, isUpgrade = false): Socket {
    this.#reuse = reuse
    this.#reader.begin(method === 'HEAD', isUpgrade)
    return this.#socket as Socket
  }

  pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#socket?.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#socket?.resume()
  }

  /** The caller abandons its request: it gets no more callbacks. */
  abort(): void {
    this.#current = undefined
    this.close()
  }

  /** Ends it. Its owner is informed elsewhere. */
  close(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#sender?.stop()
    this.#socket?.destroy()
    this.#owner.onGone(this)
  }

  ref(): void {
    this.#socket?.ref()
  }

  unref(): void {
    this.#socket?.unref()
  }

  onHead(head: ParsedHead, bytes: number): boolean {
    const call = this.#current
    if (head.status >= 200) this.keptMs = parseKept(head.headers['keep-alive'])
    call?.onHead(head, bytes)
    return call !== undefined && this.#current === call
  }

  onContents(chunk: Buffer): boolean {
    const call = this.#current
    call?.onData(chunk)
    return call !== undefined && this.#current === call
  }

  onWhole(persists: boolean): void {
    const call = this.#current
    this.#current = undefined
    const isSent = this.#sender?.isDone !== false && this.#socket?.writableLength === 0
    if (persists && this.#reuse && isSent && !this.#isDeaf && !this.#isGone) {
      // An idle connection is read, to notice its end.
      this.resume()
      this.#owner.onRest(this)
    } else this.close()
    call?.onEnd(isSent)
  }

  /** Ends it, and reports the reason to its owner. */
  break(error: Error): void {
    const call = this.#current
    this.abort()
    call?.onError(error)
  }

  /** The other side has closed; an answer that ends with its connection is complete. */
  #lose(): void {
    if (this.#current) this.break(this.#error ?? new ConnectionClosed())
    else this.close()
  }

  readonly #onDeaf = (): void => {
    this.#isDeaf = true
    this.#sender?.stop()
  }

  readonly #onSourceError = (error: Error): void => this.break(error)

  readonly #onDrain = (): void => this.#sender?.goOn()

  readonly #onError = (error: Error): void => {
    this.#error = error
  }

  readonly #onEnd = (): void => {
    if (!this.#current || !this.#reader.endsWithConnection) return this.#lose()
    this.onWhole(false)
  }

  readonly #onClose = (): void => this.#lose()
}

function sendWhole(socket: Socket, head: string, body: Buffer): void {
  if (head.length + body.length <= joinedBytesMax) {
    const whole = Buffer.allocUnsafe(head.length + body.length)
    whole.write(head, 'latin1')
    body.copy(whole, head.length)
    socket.write(whole)
    return
  }
  socket.cork()
  socket.write(head, 'latin1')
  socket.write(body)
  socket.uncork()
}

/** `timeout=5, max=100`, in milliseconds. */
function parseKept(value: string | string[] | undefined): number | undefined {
  const seconds = value === undefined ? undefined : /(?:^|,)[\t ]*timeout=(\d{1,9})/i.exec(String(value))?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
