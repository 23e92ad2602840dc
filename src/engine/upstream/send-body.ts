import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { framing } from './write-head.ts'
import { UnsendableRequest } from './wire-fault.ts'

/** The size of the pieces of a large body: small enough for the turn of the event loop in which it is encrypted. */
const pieceBytes = 262_144

/** A body in transit, longer than one write. `stop` is final: nothing of it is written any more. */
export type BodySender = {
  /** The socket has all of it. */
  readonly isDone: boolean
  /** The socket accepts more again. */
  goOn(): void
  stop(): void
}

/** Bytes in memory, piece by piece, so that the socket holds at most one of them. */
export class PieceSender implements BodySender {
  isDone = false
  readonly #socket: Socket
  readonly #bytes: Buffer
  #at = 0
  #isStopped = false

  constructor(socket: Socket, head: string, bytes: Buffer) {
    this.#socket = socket
    this.#bytes = bytes
    socket.cork()
    socket.write(head + framing.counted(bytes.length), 'latin1')
    this.#writeOne()
    socket.uncork()
    this.goOn()
  }

  goOn(): void {
    while (!this.isDone && !this.#isStopped && this.#socket.writableLength === 0) this.#writeOne()
  }

  #writeOne(): void {
    const piece = this.#bytes.subarray(this.#at, this.#at + pieceBytes)
    this.#at += piece.length
    this.isDone = this.#at === this.#bytes.length
    this.#socket.write(piece)
  }

  stop(): void {
    this.#isStopped = true
  }
}

/** A body that other code reads or makes, as it arrives. Its source is destroyed when it is stopped. */
export class StreamSender implements BodySender {
  isDone = false
  readonly #socket: Socket
  readonly #head: string
  readonly #source: Readable
  readonly #bytes: number | undefined
  readonly #fail: (error: Error) => void
  #sent = 0
  #isOver = false

  /**
   * @param bytes its length; undefined for chunks
   * @param fail called once if the source broke off, or does not have the declared length
   */
  constructor(socket: Socket, head: string, source: Readable, bytes: number | undefined, fail: (error: Error) => void) {
    this.#socket = socket
    this.#head = head
    this.#source = source
    this.#bytes = bytes
    this.#fail = fail
    source.on('error', this.#onError).on('close', this.#onClose).on('end', this.#onEnd).on('data', this.#onData)
    // Events during the wait for a connection are not repeated.
    if (source.destroyed) process.nextTick(this.#onClose)
  }

  goOn(): void {
    if (!this.#isOver) this.#source.resume()
  }

  stop(): void {
    if (this.#isOver) return
    this.#leave()
    this.#source.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#isOver || chunk.length === 0) return
    const isFirst = this.#sent === 0
    this.#sent += chunk.length
    if (this.#bytes !== undefined && this.#sent > this.#bytes) return this.#breakOff(wrongLength())
    const socket = this.#socket
    socket.cork()
    if (isFirst) this.#writeHead()
    if (this.#bytes === undefined) socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
    let hasRoom = socket.write(chunk)
    if (this.#bytes === undefined) hasRoom = socket.write('\r\n', 'latin1')
    socket.uncork()
    // What the socket took at once needs no `drain`.
    if (!hasRoom && socket.writableLength > 0) this.#source.pause()
  }

  readonly #onEnd = (): void => {
    if (this.#isOver) return
    if (this.#bytes !== undefined && this.#sent < this.#bytes) return this.#breakOff(wrongLength())
    this.#leave()
    if (this.#sent === 0) this.#socket.write(this.#head + framing.counted(0), 'latin1')
    else if (this.#bytes === undefined) this.#socket.write('0\r\n\r\n', 'latin1')
    this.isDone = true
  }

  readonly #onError = (error: Error): void => {
    if (!this.#isOver) this.#breakOff(error)
  }

  readonly #onClose = (): void => {
    if (!this.#isOver) this.#breakOff(this.#source.errored ?? new Error('the request body ended early'))
  }

  #writeHead(): void {
    const end = this.#bytes === undefined ? framing.chunked : framing.counted(this.#bytes)
    this.#socket.write(this.#head + end, 'latin1')
  }

  #breakOff(error: Error): void {
    this.stop()
    this.#fail(error)
  }

  /** Its errors need a listener, and there is no other one. */
  #leave(): void {
    this.#isOver = true
    this.#source.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose)
  }
}

function wrongLength(): Error {
  return new UnsendableRequest('the request body does not match its declared length')
}
