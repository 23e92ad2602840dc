import { WireFault } from './wire-fault.ts'

/** The most bytes of chunk extensions before so many bytes of contents. */
const extensionBytesFree = 16_384
/** Fields after the last chunk, which are not read. */
const trailerBytesMax = 16_384
/** The most hexadecimal digits of a chunk's size: longer numbers are not exact. */
const digitsMax = 12

const cr = 0x0d
const lf = 0x0a
const colon = 0x3a
const semicolon = 0x3b

const size = 0
const extension = 1
const sizeEnd = 2
const contents = 3
const contentsCr = 4
const contentsLf = 5
const trailerStart = 6
const trailerName = 7
const trailerValue = 8
const trailerLf = 9
const lastLf = 10
const done = 11

/** Reads the borders of chunks (RFC 9112 7.1) strictly: each line ends with CR LF. */
export class ChunkFrames {
  /** Bytes that the current chunk still lacks. */
  left = 0
  #state = size
  #digits = 0
  #size = 0
  #extensionBytes = 0
  #contentBytes = 0
  #trailerBytes = 0

  /** The last chunk and what follows it were read. */
  get isDone(): boolean {
    return this.#state === done
  }

  /** Takes contents of which so many bytes are available; returns how many of them belong to the chunk. */
  take(bytes: number): number {
    const taken = Math.min(this.left, bytes)
    this.left -= taken
    if (this.left === 0) this.#state = contentsCr
    return taken
  }

  /**
   * Reads the frame of contents from an offset on; only while `left` is 0 and it is not done.
   * @returns where contents begin, where the answer ends, or the end of the bytes
   * @throws WireFault
   */
  read(bytes: Buffer, from: number): number {
    let at = from
    while (at < bytes.length && this.#state !== contents && this.#state !== done) this.#step(bytes[at++] as number)
    return at
  }

  #step(byte: number): void {
    switch (this.#state) {
      case size:
        return this.#readSize(byte)
      case extension:
        return this.#readExtension(byte)
      case sizeEnd:
        return this.#endSize(byte)
      case contentsCr:
        return this.#expect(byte, cr, contentsLf)
      case contentsLf:
        this.#digits = 0
        this.#size = 0
        return this.#expect(byte, lf, size)
      case trailerStart:
        if (byte === cr) this.#state = lastLf
        else this.#readTrailerName(byte)
        return
      case trailerName:
        if (byte === colon) this.#state = trailerValue
        else this.#readTrailerName(byte)
        return
      case trailerValue:
        if (byte === cr) this.#state = trailerLf
        else this.#countTrailer(isText(byte))
        return
      case trailerLf:
        return this.#expect(byte, lf, trailerStart)
      default:
        return this.#expect(byte, lf, done)
    }
  }

  #expect(byte: number, wanted: number, next: number): void {
    if (byte !== wanted) throw new WireFault('a chunk does not end at its declared size')
    this.#state = next
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      if (++this.#digits > digitsMax) throw new WireFault('the size of a chunk is too large')
      this.#size = this.#size * 16 + digit
      return
    }
    if (this.#digits === 0) throw new WireFault('a chunk has no size')
    if (byte === cr) this.#state = sizeEnd
    else if (byte === semicolon) this.#state = extension
    else throw new WireFault('the size of a chunk is not a number')
  }

  #readExtension(byte: number): void {
    if (byte === cr) {
      this.#state = sizeEnd
      return
    }
    if (!isText(byte)) throw new WireFault('the extension of a chunk has invalid characters')
    if (++this.#extensionBytes > extensionBytesFree + this.#contentBytes)
      throw new WireFault('the extensions of chunks are too long')
  }

  #endSize(byte: number): void {
    this.#expect(byte, lf, this.#size === 0 ? trailerStart : contents)
    this.left = this.#size
    this.#contentBytes += this.#size
  }

  #readTrailerName(byte: number): void {
    this.#countTrailer(isToken[byte] === 1)
    this.#state = trailerName
  }

  #countTrailer(isSound: boolean): void {
    if (!isSound) throw new WireFault('a trailer has invalid characters')
    if (++this.#trailerBytes > trailerBytesMax) throw new WireFault('the trailers are too long')
  }
}

/** The characters of names (RFC 9110 5.6.2). */
const isToken = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++)
  if (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(byte))) isToken[byte] = 1

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** The characters of a line besides its end (RFC 9110 5.5). */
function isText(byte: number): boolean {
  return byte >= 0x20 ? byte !== 0x7f : byte === 0x09
}
