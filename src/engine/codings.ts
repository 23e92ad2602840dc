import {
  type BrotliDecompress,
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib'
import { joined } from '../wire/index.ts'

/** Content codings that are decoded (RFC 9110 8.4.1, RFC 8878). */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** No honest body has more codings. */
const codingsMax = 4
/** More pending input of one coding stops its source. */
const inputBytesMax = 16_384
/** Zstandard keeps a window of at most 8 MiB in memory (RFC 9659). */
const zstdWindowLogMax = 23
const spellings: { readonly [name: string]: Coding } = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
  zstd: 'zstd',
}

/** The accepted codings, for `accept-encoding`. */
export const codingNames = 'gzip, deflate, br, zstd'

/** The codings of a body in order of application; undefined if one is unknown, or there are too many. */
export function parseCodings(value: string | string[] | undefined): readonly Coding[] | undefined {
  if (value === undefined) return none
  const names = String(value)
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => name !== '' && name !== 'identity')
  const codings = names.map(name => (Object.hasOwn(spellings, name) ? spellings[name] : undefined))
  return codings.length <= codingsMax && codings.every(coding => coding !== undefined) ? codings : undefined
}

const none: readonly Coding[] = []

type Inflating = Gunzip | BrotliDecompress
/** Callbacks of a decoder. */
export type Unpacked = {
  data(chunk: Buffer): void
  /** The contents are complete. */
  end(): void
  fault(error: Error): void
  /** The decoder accepts more input again. */
  drain(): void
}

const deflateHeadBytes = 2
const zstdOptions = { params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLogMax } }

/**
 * Decodes one coding, piece by piece, in threads of the pool. `deflate` is read with and without its zlib wrapper,
 * because some send it so (RFC 9110 8.4.1.2). Input that arrives while a thread works is joined, because a body may
 * arrive byte by byte.
 */
export class Unpacker {
  readonly #coding: Coding
  readonly #to: Unpacked
  #stream: Inflating | undefined
  #waiting: Buffer[] = []
  #received = 0
  #isBusy = false
  #isFull = false
  #over = false
  #paused = false

  constructor(coding: Coding, to: Unpacked) {
    this.#coding = coding
    this.#to = to
  }

  /** After the end: bytes of its input follow the end of the coding. */
  get hasRest(): boolean {
    return this.#stream !== undefined && this.#stream.bytesWritten < this.#received
  }

  /** False if it accepts no more until `drain`. */
  write(chunk: Buffer): boolean {
    if (this.#over) return true
    this.#received += chunk.length
    this.#waiting.push(chunk)
    if (!this.#stream && this.#coding === 'deflate' && this.#received < deflateHeadBytes) return true
    if (!this.#isBusy) this.#pour()
    this.#isFull = this.#received - (this.#stream?.bytesWritten ?? 0) >= inputBytesMax
    return !this.#isFull
  }

  /** All input has arrived. Without any input there are no contents. */
  end(): void {
    if (this.#over) return
    if (this.#received > 0) {
      if (this.#waiting.length > 0) this.#pour()
      return void this.#stream?.end()
    }
    this.#over = true
    this.#to.end()
  }

  /** The input breaks off here: calls `then` once everything decoded from it has been passed on. */
  breakOff(then: () => void): void {
    const stream = this.#stream
    if (!stream || this.#over) return then()
    if (this.#waiting.length > 0) this.#pour()
    const check = (): void => {
      if (this.#over || stream.readableLength === 0) then()
      else stream.once('data', () => setImmediate(check))
    }
    stream.flush(() => setImmediate(check))
  }

  pause(): void {
    this.#paused = true
    this.#stream?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#stream?.resume()
  }

  destroy(): void {
    this.#over = true
    this.#stream?.destroy()
  }

  #pour(): void {
    const input = joined(this.#waiting)
    this.#waiting = []
    this.#isBusy = true
    const stream = this.#stream ?? this.#open(input)
    stream.write(input, this.#poured)
  }

  readonly #poured = (): void => {
    this.#isBusy = false
    if (this.#over) return
    if (this.#waiting.length > 0) this.#pour()
    if (!this.#isFull) return
    this.#isFull = false
    this.#to.drain()
  }

  #open(head: Buffer): Inflating {
    const stream = createInflating(this.#coding, head)
    this.#stream = stream
    stream
      .on('data', (chunk: Buffer) => {
        if (!this.#over) this.#to.data(chunk)
      })
      .on('end', () => this.#finish(() => this.#to.end()))
      .on('error', error => this.#finish(() => this.#to.fault(error)))
    if (this.#paused) stream.pause()
    return stream
  }

  #finish(report: () => void): void {
    if (this.#over) return
    this.#over = true
    report()
    // A waiting writer continues.
    this.#to.drain()
  }
}

/** A few complete bytes, decoded; undefined if that fails, or exceeds `bytesMax`. */
export function unpackSmall(bytes: Buffer, codings: readonly Coding[], bytesMax: number): Buffer | undefined {
  try {
    return codings.reduceRight<Buffer>((packed, coding) => inflateSmall(coding, packed, bytesMax), bytes)
  } catch {
    return undefined
  }
}

/** The decoded part of a body that may still arrive; undefined if it cannot be decoded, or exceeds `bytesMax`. */
export function unpackBegin(bytes: Buffer, codings: readonly Coding[], bytesMax: number): Buffer | undefined {
  try {
    return codings.reduceRight<Buffer>((packed, coding) => inflateBegin(coding, packed, bytesMax), bytes)
  } catch {
    return undefined
  }
}

function inflateBegin(coding: Coding, bytes: Buffer, maxOutputLength: number): Buffer {
  if (coding === 'br') {
    return brotliDecompressSync(bytes, { maxOutputLength, finishFlush: constants.BROTLI_OPERATION_FLUSH })
  }
  if (coding === 'zstd') {
    return zstdDecompressSync(bytes, { ...zstdOptions, maxOutputLength, finishFlush: constants.ZSTD_e_flush })
  }
  const options = { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH }
  if (coding === 'gzip') return gunzipSync(bytes, options)
  // Its first two bytes show whether it has a wrapper.
  if (bytes.length < deflateHeadBytes) return bytes.subarray(0, 0)
  return isZlib(bytes) ? inflateSync(bytes, options) : inflateRawSync(bytes, options)
}

function inflateSmall(coding: Coding, bytes: Buffer, maxOutputLength: number): Buffer {
  const options = { maxOutputLength }
  if (coding === 'gzip') return gunzipSync(bytes, options)
  if (coding === 'br') return brotliDecompressSync(bytes, options)
  if (coding === 'zstd') return zstdDecompressSync(bytes, options)
  return isZlib(bytes) ? inflateSync(bytes, options) : inflateRawSync(bytes, options)
}

function createInflating(coding: Coding, head: Buffer): Inflating {
  if (coding === 'gzip') return createGunzip()
  if (coding === 'br') return createBrotliDecompress()
  if (coding === 'zstd') return createZstdDecompress(zstdOptions)
  return isZlib(head) ? createInflate() : createInflateRaw()
}

/** RFC 1950 2.2: the method is 8, the window at most 32 KiB, and the two bytes are a multiple of 31. */
function isZlib(head: Buffer): boolean {
  const first = head[0] ?? 0
  return (first & 0x0f) === 8 && first >> 4 <= 7 && head.length > 1 && head.readUInt16BE(0) % 31 === 0
}
