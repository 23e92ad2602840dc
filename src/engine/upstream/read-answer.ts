import { type ParsedHead, parseHead } from './parse-head.ts'
import { ChunkFrames } from './read-chunks.ts'
import { copyOf, largeBytes } from './read-memory.ts'
import { WireFault } from './wire-fault.ts'

/** A head with its line ends; an interim one counts separately. */
const headBytesMax = 16_384
const headEnd = Buffer.from('\r\n\r\n', 'latin1')
/** The beginning of every head: anything else is not waited for. */
const beginning = Buffer.from('HTTP/1.', 'latin1')

/** The receiver of an answer while it is read. False: it is abandoned, and nothing more of it is read. */
export type Reading = {
  onHead(head: ParsedHead, bytes: number): boolean
  onContents(chunk: Buffer): boolean
  /** It is complete; `persists`: both sides allow another answer on the connection. */
  onWhole(persists: boolean): void
}

const atHead = 0
const counted = 1
const chunked = 2
const untilClose = 3
const over = 4

/** Reads one answer after another from a connection's bytes, however they are split (RFC 9112 6 and 7). */
export class AnswerReader {
  /** The length of the last read of this answer. */
  lastReadBytes = 0
  readonly #to: Reading
  #phase: number = over
  #isForHead = false
  #isUpgrade = false
  #persists = false
  /** Bytes left of contents of known length. */
  #left = 0
  #chunks: ChunkFrames | undefined
  /** An incomplete head. */
  #part: Buffer | undefined
  #partBytes = 0

  constructor(to: Reading) {
    this.#to = to
  }

  /**
   * Another answer will arrive. @param isForHead it has no contents, whatever its head says
   * @param isUpgrade what follows a 101 is the other protocol, until the connection ends
   */
  begin(isForHead: boolean, isUpgrade = false): void {
    this.#phase = atHead
    this.#isUpgrade = isUpgrade
    this.#isForHead = isForHead
    this.lastReadBytes = 0
  }

  /** The end of the connection would end the answer. */
  get endsWithConnection(): boolean {
    return this.#phase === untilClose
  }

  /**
   * How many bytes of contents may arrive next, as far as is known: Infinity if many arrived and nothing marks their
   * end.
   */
  get expectedBytes(): number {
    if (this.#phase === counted) return this.#left
    if (this.#phase !== chunked && this.#phase !== untilClose) return 0
    return this.lastReadBytes >= largeBytes || (this.#chunks?.left ?? 0) >= largeBytes ? Infinity : 0
  }

  /**
   * Reads what has arrived. Callbacks get it in memory of its own; in `bytes` itself if `isOwn`.
   * @throws WireFault
   */
  read(bytes: Buffer, isOwn: boolean): void {
    this.lastReadBytes = bytes.length
    let at = 0
    while (at < bytes.length && this.#phase !== over) {
      if (this.#phase === atHead) at = this.#readHead(bytes, at)
      else if (this.#phase === chunked) at = this.#readChunks(bytes, at, isOwn)
      else at = this.#readPlain(bytes, at, isOwn)
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    if (this.#part) return this.#joinHead(this.#part, bytes, at)
    const end = bytes.indexOf(headEnd, at)
    if (end < 0) return this.#keepHead(bytes, at)
    const next = end + headEnd.length
    this.#pass(bytes.toString('latin1', at, end), next - at, next === bytes.length)
    return next
  }

  #keepHead(bytes: Buffer, at: number): number {
    const part = Buffer.allocUnsafe(headBytesMax)
    this.#part = part
    this.#partBytes = 0
    return this.#joinHead(part, bytes, at)
  }

  #joinHead(part: Buffer, bytes: Buffer, at: number): number {
    const before = this.#partBytes
    const copied = bytes.copy(part, before, at, Math.min(bytes.length, at + part.length - before))
    this.#partBytes = before + copied
    const compared = Math.min(this.#partBytes, beginning.length)
    if (beginning.compare(part, 0, compared, 0, compared) !== 0) throw new WireFault('it uses another protocol')
    const end = part.subarray(0, this.#partBytes).indexOf(headEnd, Math.max(0, before - headEnd.length + 1))
    if (end < 0) {
      if (this.#partBytes === part.length) throw new WireFault('its head is too long')
      return bytes.length
    }
    const next = at + end + headEnd.length - before
    this.#part = undefined
    this.#pass(part.toString('latin1', 0, end), end + headEnd.length, next === bytes.length)
    return next
  }

  #pass(text: string, bytes: number, isLast: boolean): void {
    if (bytes > headBytesMax) throw new WireFault('its head is too long')
    const head = parseHead(text)
    if (!this.#to.onHead(head, bytes)) {
      this.#phase = over
      return
    }
    if (head.status === 101 && this.#isUpgrade) {
      this.#phase = untilClose
      return
    }
    if (head.status < 200) return
    this.#persists = head.persists
    const { 'content-length': length, 'transfer-encoding': coding } = head.headers
    if (coding !== undefined && length !== undefined)
      throw new WireFault('it has both content-length and transfer-encoding')
    if (this.#isForHead || head.status === 204 || head.status === 304) {
      // One that should have no contents, and announces some, may have sent them.
      if (!this.#isForHead && (coding !== undefined || (length !== undefined && length !== '0'))) this.#persists = false
      return this.#end(isLast)
    }
    if (coding !== undefined) return this.#beginChunks(coding)
    if (length === undefined) {
      this.#phase = untilClose
      return
    }
    this.#phase = counted
    this.#left = Number(length)
    if (this.#left === 0) this.#end(isLast)
  }

  #beginChunks(coding: string | string[]): void {
    if (typeof coding !== 'string' || coding.toLowerCase() !== 'chunked')
      throw new WireFault('its transfer-encoding is unknown')
    this.#phase = chunked
    this.#chunks = new ChunkFrames()
  }

  /** Contents without frames: a known number of bytes, or all that arrive. */
  #readPlain(bytes: Buffer, at: number, isOwn: boolean): number {
    const isCounted = this.#phase === counted
    const end = isCounted ? Math.min(bytes.length, at + this.#left) : bytes.length
    if (isCounted) this.#left -= end - at
    if (!this.#passPiece(bytes, at, end, isOwn)) return end
    if (isCounted && this.#left === 0) this.#end(end === bytes.length)
    return end
  }

  /**
   * The contents of chunks that arrived together are passed on together: moving the smaller part costs less than
   * another piece.
   */
  #readChunks(bytes: Buffer, from: number, isOwn: boolean): number {
    const chunks = this.#chunks as ChunkFrames
    let at = from
    let start = from
    let length = 0
    let fault: unknown
    try {
      while (at < bytes.length && !chunks.isDone) {
        if (chunks.left === 0) {
          at = chunks.read(bytes, at)
          continue
        }
        const taken = chunks.take(bytes.length - at)
        if (length > taken) bytes.copyWithin(start + length, at, at + taken)
        else {
          bytes.copyWithin(at - length, start, start + length)
          start = at - length
        }
        length += taken
        at += taken
      }
    } catch (error) {
      fault = error
    }
    // What came before the fault is complete.
    if (length > 0 && !this.#passPiece(bytes, start, start + length, isOwn)) return at
    if (fault) throw fault
    if (chunks.isDone) this.#end(at === bytes.length)
    return at
  }

  /** False if the answer was abandoned. */
  #passPiece(bytes: Buffer, from: number, to: number, isOwn: boolean): boolean {
    const isWhole = from === 0 && to === bytes.length
    const chunk = isOwn ? (isWhole ? bytes : bytes.subarray(from, to)) : copyOf(bytes, from, to)
    if (this.#to.onContents(chunk)) return true
    this.#phase = over
    return false
  }

  #end(isLast: boolean): void {
    this.#phase = over
    this.#chunks = undefined
    this.#to.onWhole(this.#persists && isLast)
  }
}
