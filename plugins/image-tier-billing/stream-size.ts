import type { Size } from './tier.ts'

/** The result so far; `none`: the bytes have no size. */
export type Found = (Size & { readonly bytesMin?: number }) | 'more' | 'none'

/** Reads a size anywhere in an image, without keeping its bytes. */
export type SizeReader = {
  readonly found: Found
  /** Reads the next byte, from the first byte of the image; not called after a result other than `more`. */
  push(byte: number): void
}

/** The maximum pixels of one byte of a JPEG with Huffman coding: a block takes at least a bit. */
const jpegPixelsPerByte = 4096

/** ITU-T T.81 B.1: walks the segments, so that the SOF of a thumbnail inside one is skipped. */
export class JpegSize implements SizeReader {
  found: Found = 'more'
  /** Bytes to skip. */
  #skip = 2
  #step: 'seek' | 'marker' | 'length' | 'frame' = 'seek'
  #marker = 0
  /** Bytes of the length or the frame that have arrived. */
  #count = 0
  #value = 0
  #height = 0

  push(byte: number): void {
    if (this.#skip > 0) {
      this.#skip--
      return
    }
    // Bytes outside segments are skipped, as decoders do, and so is any number of fill bytes.
    if (this.#step === 'seek') {
      if (byte === 0xff) this.#step = 'marker'
    } else if (this.#step === 'marker') this.#readMarker(byte)
    else {
      this.#value = (this.#value << 8) | byte
      this.#count++
      if (this.#step === 'length') this.#readLength()
      else this.#readFrame()
    }
  }

  #readMarker(marker: number): void {
    if (marker === 0xff) return
    this.#step = 'seek'
    if (marker === 0x00 || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) return
    // The scan begins, or the image ends, before a frame.
    if (marker === 0xd9 || marker === 0xda) {
      this.found = 'none'
      return
    }
    this.#marker = marker
    this.#step = 'length'
    this.#count = 0
    this.#value = 0
  }

  #readLength(): void {
    if (this.#count < 2) return
    const length = this.#value
    const marker = this.#marker
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (length < (isFrame ? 8 : 2)) {
      this.found = 'none'
      return
    }
    this.#skip = isFrame ? 1 : length - 2
    this.#step = isFrame ? 'frame' : 'seek'
    this.#count = 0
    this.#value = 0
  }

  #readFrame(): void {
    if (this.#count < 2) return
    if (this.#count === 2) this.#height = this.#value & 0xffff
    if (this.#count < 4) return
    const height = this.#height
    const width = this.#value & 0xffff
    // With arithmetic coding a block may take almost no bytes.
    const isHuffman = this.#marker < 0xc8
    // A height of 0 is set by a DNL segment after the first scan, which is not read: undecodable.
    this.found = { width, height, ...(isHuffman && { bytesMin: (width * height) / jpegPixelsPerByte }) }
  }
}

const entryBytes = 12
const entriesMax = 4096

/** TIFF 6.0, section 2: the first directory, at any offset, in either byte order. */
export class TiffSize implements SizeReader {
  found: Found = 'more'
  #at = 0
  #little = false
  #directory = 0
  #entries = 0
  #width = 0
  #height = 0
  readonly #piece = Buffer.alloc(entryBytes)
  #have = 0

  push(byte: number): void {
    const at = this.#at++
    if (at < 8) {
      this.#piece[at] = byte
      if (at === 7) this.#readHead()
      return
    }
    const within = at - this.#directory
    if (within < 0) return
    this.#piece[this.#have++] = byte
    if (within === 1) {
      this.#entries = this.#short(0)
      this.#have = 0
      if (this.#entries === 0 || this.#entries > entriesMax) this.found = 'none'
    } else if (within > 1 && this.#have === entryBytes) {
      this.#readEntry()
      this.#have = 0
      if (this.found === 'more' && (within - 1) / entryBytes >= this.#entries) this.found = 'none'
    }
  }

  #readHead(): void {
    this.#little = this.#piece[0] === 0x49
    this.#directory = this.#long(4)
    // BigTIFF (43) has offsets of eight bytes.
    if (this.#short(2) !== 42 || this.#directory < 8) this.found = 'none'
  }

  /** Reads a directory entry. Tags are sorted, so the width precedes the height. */
  #readEntry(): void {
    const tag = this.#short(0)
    const type = this.#short(2)
    const value = type === 3 ? this.#short(8) : type === 4 ? this.#long(8) : 0
    if (tag === 256) this.#width = value
    if (tag === 257) this.#height = value
    if (this.#width > 0 && this.#height > 0) this.found = { width: this.#width, height: this.#height }
  }

  #short(at: number): number {
    return this.#little ? this.#piece.readUInt16LE(at) : this.#piece.readUInt16BE(at)
  }

  #long(at: number): number {
    return this.#little ? this.#piece.readUInt32LE(at) : this.#piece.readUInt32BE(at)
  }
}
