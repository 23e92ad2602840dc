import type { Failure } from '../../domain/index.ts'

/** Frame opcodes (RFC 6455 5.2). */
export const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Close codes (RFC 6455 7.4.1). */
export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  protocol: 1002,
  noCode: 1005,
  /** Never sent: the connection ended without a close frame. */
  noConnection: 1006,
  policy: 1008,
  tooLarge: 1009,
  fault: 1011,
  restart: 1012,
  tryLater: 1013,
} as const

/** The error for bytes from a peer that are not a valid frame. */
export class FrameFault extends Error {
  readonly closeCode: number

  constructor(closeCode: number, why: string) {
    super(why)
    this.closeCode = closeCode
  }
}

export type FrameReader = {
  /**
   * A complete message in its wire form. `payload` is undefined for a message longer than `keptBytesMax`. `end`: its
   * end in the chunk.
   */
  onMessage?(payload: Buffer | undefined, bytes: number, end: number): void
  /** A piece of a message, still masked. Byte `phase` of `mask` masks the first byte. */
  onPiece?(piece: Buffer, mask: Buffer, phase: number): void
  /** A piece of an unmasked message that is too long for `onMessage`; the kept pieces before it are passed first. */
  onLongPiece?(piece: Buffer): void
  /** A close frame. `at`: its offset in the chunk; -1 if it started in an earlier chunk. */
  onClose(code: number, at: number, reason: string): void
}

export type WalkerOptions = {
  /** Clients mask their frames, servers do not (RFC 6455 5.1). */
  readonly isMasked: boolean
  /** Longer messages are refused. */
  readonly messageBytesMax: number
  /** Messages up to this length are assembled for `onMessage`. */
  readonly keptBytesMax: number
}

const headBytesMax = 14
const controlBytesMax = 125
const nothing = Buffer.alloc(0)

/** Joins the pieces of a message without an object for each, because a message may have a piece for each byte. */
export class Joiner {
  #bytes: Buffer = nothing
  length = 0

  add(piece: Buffer): void {
    const length = this.length + piece.length
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.length))
      this.#bytes.copy(larger, 0, 0, this.length)
      this.#bytes = larger
    }
    piece.copy(this.#bytes, this.length)
    this.length = length
  }

  /** The joined pieces. The next piece begins another message. */
  take(): Buffer {
    const joined = this.#bytes.subarray(0, this.length)
    this.#bytes = nothing
    this.length = 0
    return joined
  }
}

/** Parses the frames of one direction while their bytes are forwarded. The bytes stay unchanged. */
export class FrameWalker {
  readonly #reader: FrameReader
  readonly #options: WalkerOptions
  readonly #head = Buffer.alloc(headBytesMax)
  #headBytes = 0
  /** The number of remaining bytes in the frame's payload. */
  #left = 0
  #isInFrame = false
  #isLast = true
  #opcode = 0
  #isInMessage = false
  #messageBytes = 0
  #frameAt = -1
  #phase = 0
  /** The payload of the current message. */
  readonly #kept = new Joiner()
  /** The payload of a message that lies in one chunk. */
  #whole: Buffer | undefined
  #control: Buffer[] = []
  readonly #mask = Buffer.alloc(4)
  /** The first offset between two messages in the last chunk: 0 if no message was open at its start; -1 for none. */
  boundary = -1

  constructor(reader: FrameReader, options: WalkerOptions) {
    this.#reader = reader
    this.#options = options
  }

  /** Whether the bytes read so far end between two messages, where the gateway may insert its own. */
  get isBetween(): boolean {
    return !this.#isInFrame && this.#headBytes === 0 && !this.#isInMessage
  }

  /** @throws FrameFault */
  read(chunk: Buffer): void {
    this.boundary = this.isBetween ? 0 : -1
    this.#frameAt = -1
    let at = 0
    while (at < chunk.length) {
      if (!this.#isInFrame) {
        if (this.#headBytes === 0) this.#frameAt = at
        at = this.#readHead(chunk, at)
        if (!this.#isInFrame) return
      }
      const end = Math.min(chunk.length, at + this.#left)
      this.#take(chunk.subarray(at, end))
      this.#left -= end - at
      at = end
      if (this.#left === 0) this.#endFrame(at)
    }
  }

  #readHead(chunk: Buffer, from: number): number {
    const head = this.#head
    let at = from
    while (at < chunk.length) {
      head[this.#headBytes++] = chunk[at++] as number
      if (this.#headBytes < this.#headLength) continue
      this.#beginFrame()
      return at
    }
    return at
  }

  get #headLength(): number {
    if (this.#headBytes < 2) return 2
    const second = this.#head[1] as number
    const length = second & 0x7f
    return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0)
  }

  #beginFrame(): void {
    const head = this.#head
    const first = head[0] as number
    const second = head[1] as number
    this.#opcode = first & 0x0f
    this.#isLast = (first & 0x80) !== 0
    const isMasked = (second & 0x80) !== 0
    if (first & 0x70) throw new FrameFault(closeCodes.protocol, 'a frame uses an extension that was not negotiated')
    if (isMasked !== this.#options.isMasked)
      throw new FrameFault(closeCodes.protocol, isMasked ? 'a frame is masked' : 'a frame is not masked')
    const short = second & 0x7f
    const length = short === 126 ? head.readUInt16BE(2) : short === 127 ? Number(head.readBigUInt64BE(2)) : short
    if (isMasked) head.copy(this.#mask, 0, this.#headBytes - 4, this.#headBytes)
    this.#checkFrame(length)
    this.#left = length
    this.#phase = 0
    this.#isInFrame = true
    this.#headBytes = 0
  }

  #checkFrame(length: number): void {
    const opcode = this.#opcode
    if (opcode >= opcodes.close) {
      if (opcode > opcodes.pong) throw new FrameFault(closeCodes.protocol, `a frame has the unknown opcode ${opcode}`)
      if (!this.#isLast || length > controlBytesMax)
        throw new FrameFault(closeCodes.protocol, 'a control frame is fragmented or longer than 125 bytes')
      return
    }
    if (opcode > opcodes.binary) throw new FrameFault(closeCodes.protocol, `a frame has the unknown opcode ${opcode}`)
    if ((opcode === opcodes.more) !== this.#isInMessage)
      throw new FrameFault(closeCodes.protocol, 'the fragments of a message are out of order')
    this.#isInMessage = true
    this.#messageBytes += length
    if (this.#messageBytes > this.#options.messageBytesMax)
      throw new FrameFault(closeCodes.tooLarge, `a message is longer than ${this.#options.messageBytesMax} bytes`)
  }

  #take(piece: Buffer): void {
    if (piece.length === 0) return
    if (this.#opcode >= opcodes.close) {
      if (this.#opcode === opcodes.close) this.#control.push(this.#plain(piece))
    } else if (this.#reader.onPiece) this.#reader.onPiece(piece, this.#mask, this.#phase)
    else if (this.#messageBytes <= this.#options.keptBytesMax) {
      // The chunk's memory is forwarded and may be reused, so parts that are needed later are copied.
      const isWhole = piece.length === this.#left && this.#isLast && this.#kept.length === 0
      if (isWhole) this.#whole = piece
      else this.#kept.add(piece)
    } else {
      if (this.#kept.length > 0) this.#reader.onLongPiece?.(this.#kept.take())
      this.#reader.onLongPiece?.(piece)
    }
    this.#phase = (this.#phase + piece.length) & 3
  }

  #plain(piece: Buffer): Buffer {
    return this.#options.isMasked ? unmask(piece, this.#mask, this.#phase) : Buffer.from(piece)
  }

  #endFrame(at: number): void {
    this.#isInFrame = false
    if (this.#opcode === opcodes.close) {
      const payload = Buffer.concat(this.#control)
      this.#control = []
      const code = payload.length >= 2 ? payload.readUInt16BE(0) : closeCodes.noCode
      this.#reader.onClose(code, this.#frameAt, payload.subarray(2).toString())
    } else if (this.#opcode < opcodes.close && this.#isLast) this.#endMessage(at)
    if (this.isBetween && this.boundary < 0) this.boundary = at
  }

  #endMessage(end: number): void {
    const bytes = this.#messageBytes
    const payload = this.#whole ?? this.#kept.take()
    this.#isInMessage = false
    this.#messageBytes = 0
    this.#whole = undefined
    this.#reader.onMessage?.(bytes <= this.#options.keptBytesMax ? payload : undefined, bytes, end)
  }
}

/** An unmasked copy of a piece. Byte `phase` of `mask` masks the first byte. */
export function unmask(piece: Buffer, mask: Buffer, phase: number): Buffer {
  const plain = Buffer.allocUnsafe(piece.length)
  for (let i = 0; i < piece.length; i++) plain[i] = (piece[i] as number) ^ (mask[(i + phase) & 3] as number)
  return plain
}

/** Creates a frame. `isMasked` adds a mask of zeros, because servers require a mask but accept any value. */
export function writeFrame(opcode: number, payload: Buffer, isMasked: boolean): Buffer {
  const { length } = payload
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const frame = Buffer.alloc(2 + extra + (isMasked ? 4 : 0) + length)
  frame[0] = 0x80 | opcode
  frame[1] = (isMasked ? 0x80 : 0) | (extra === 0 ? length : extra === 2 ? 126 : 127)
  if (extra === 2) frame.writeUInt16BE(length, 2)
  else if (extra === 8) frame.writeBigUInt64BE(BigInt(length), 2)
  payload.copy(frame, frame.length - length)
  return frame
}

/** Creates a close frame. A control frame can contain 123 bytes of text after the code. */
export function writeClose(code: number, text: string, isMasked: boolean): Buffer {
  const reason = Buffer.from(text).subarray(0, 120)
  const payload = Buffer.alloc(2 + reason.length)
  payload.writeUInt16BE(code)
  // Drops a character that was cut in two.
  let whole = reason.toString()
  while (whole.endsWith('\ufffd')) whole = whole.slice(0, -1)
  const bytes = payload.write(whole, 2)
  return writeFrame(opcodes.close, payload.subarray(0, 2 + bytes), isMasked)
}

/** Shorter pieces are unmasked, because a client may send a new mask with every byte. */
const shortBytesMax = 1024

/**
 * Finds words in masked bytes without unmasking long pieces: each word has four masked forms, one for each phase. A
 * piece may end within a word, so the last bytes of each piece are kept.
 */
export class MaskedSearch {
  readonly #words: readonly Buffer[]
  readonly #longest: number
  #mask: number | undefined
  #looks: readonly Buffer[] = []
  #tail: Buffer = nothing

  constructor(words: readonly string[]) {
    this.#words = words.map(word => Buffer.from(word))
    this.#longest = Math.max(0, ...this.#words.map(word => word.length - 1))
  }

  /** Counts the words in the piece, including those across its start. Byte `phase` of `mask` masks the first byte. */
  count(piece: Buffer, mask: Buffer, phase: number): number {
    if (this.#words.length === 0) return 0
    const before = this.#tail.length
    const isShort = piece.length <= shortBytesMax
    const start = unmask(isShort ? piece : piece.subarray(0, this.#longest), mask, phase)
    const joined = before === 0 ? start : Buffer.concat([this.#tail, start])
    if (isShort) {
      this.#tail = joined.subarray(Math.max(0, joined.length - this.#longest))
      return this.#countFrom(joined, before, Infinity)
    }
    const from = piece.length - this.#longest
    this.#tail = unmask(piece.subarray(from), mask, phase + from)
    return this.#countFrom(joined, before, before) + this.#countMasked(piece, mask)
  }

  /** Counts words that end after `end` and begin before `start`. */
  #countFrom(plain: Buffer, end: number, start: number): number {
    let count = 0
    for (const word of this.#words)
      for (let at = plain.indexOf(word); at !== -1 && at < start; at = plain.indexOf(word, at + word.length))
        if (at + word.length > end) count++
    return count
  }

  #countMasked(piece: Buffer, mask: Buffer): number {
    const key = mask.readUInt32BE(0)
    if (key !== this.#mask) {
      this.#mask = key
      // Forms are equal if the mask repeats itself, such as a mask of zeros.
      const looks = this.#words.flatMap(word => [0, 1, 2, 3].map(shift => unmask(word, mask, shift)))
      this.#looks = [...new Map(looks.map(look => [look.toString('latin1'), look])).values()]
    }
    let count = 0
    for (const look of this.#looks)
      for (let at = piece.indexOf(look); at !== -1; at = piece.indexOf(look, at + look.length)) count++
    return count
  }

  /** Called at the end of a message, because no word continues in the next one. */
  endMessage(): void {
    this.#tail = nothing
  }
}

/** SDKs reconnect depending on the close code. `policy` is for keys that cannot continue, and prevents retries. */
export function closeCodeOf({ code, status, retryAfterMs }: Failure): number {
  if (['session_unmetered', 'session_upstream_gone', 'internal_error'].includes(code)) return closeCodes.fault
  return status >= 500 || (status === 429 && retryAfterMs !== undefined) ? closeCodes.tryLater : closeCodes.policy
}
