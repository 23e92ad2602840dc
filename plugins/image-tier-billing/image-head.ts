import { headBytesMax, measuredOf, type Measured, measure } from './measure.ts'
import type { SizeReader } from './stream-size.ts'

/** The maximum number of examined characters of one string, whatever they decode to; it bounds malicious blanks. */
const charsMax = 2 * 1024 * 1024
const metaCharsMax = 1024
const firstTryBytes = 64

const blank = 64
const padding = 65
/** The value of each base64 character, in both alphabets; other characters are skipped, as lenient decoders do. */
const values = new Uint8Array(256).fill(blank)
for (const alphabet of [
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
]) {
  for (let i = 0; i < 64; i++) values[alphabet.charCodeAt(i)] = i
}
values[0x3d] = padding

const opening = 'data:'

/** `body`: keeps the first bytes; `follow`: passes them to a reader; `weigh`: only counts them. */
type Phase = 'opening' | 'meta' | 'body' | 'follow' | 'weigh' | 'settled'

/**
 * Reads an image's type and size from the beginning of the JSON string that contains it, piece by piece as sent:
 * base64 of either alphabet, with or without blanks, padding and a `data:` prefix, any character escaped. Reads no
 * more than it needs. The dimensions are usually known after 64 bytes. They are accepted once the minimum number of
 * bytes for an image of that size has arrived. Uses at most 64 KiB.
 *
 * With `link: true` the string is a URL, and only a `data:` URL is read.
 */
export class ImageHead {
  readonly #link: boolean
  #phase: Phase = 'opening'
  #measured: Measured = { kind: 'more', mime: null, bytesMax: headBytesMax }
  #inline = false
  #chars = 0
  /** The first characters, or the end of the text before the comma of a data: URL. */
  #text = ''
  /** The unfinished escape at the end of a piece. */
  #escape = ''
  #bytes = Buffer.allocUnsafe(firstTryBytes)
  #length = 0
  #tryAt = firstTryBytes
  #bits = 0
  #held = 0
  #reader: SizeReader | undefined

  constructor(kind: { readonly link: boolean }) {
    this.#link = kind.link
  }

  /** Whether no further piece can change the result. */
  get settled(): boolean {
    return this.#phase === 'settled'
  }

  /** Whether it is still unknown if the string is a `data:` URL. */
  get isOpening(): boolean {
    return this.#phase === 'opening'
  }

  /** Whether the string begins with `data:`; known after its first five characters. */
  get inline(): boolean {
    return this.#inline
  }

  /** The image's type from its first bytes; null if it is unknown. */
  get mime(): string | null {
    if (this.#measured.mime === null && this.#phase !== 'settled' && this.#length > 0) {
      return measure(this.#bytes.subarray(0, this.#length)).mime
    }
    return this.#measured.mime
  }

  /** Reads `piece` from `from` to `to`. */
  write(piece: Buffer, from: number, to: number): void {
    for (let i = from; i < to && this.#phase !== 'settled'; i++) {
      if (this.#phase === 'weigh') {
        this.#chars += to - i
        return this.#weigh(false)
      }
      const byte = piece[i] as number
      if (++this.#chars > charsMax && this.#phase !== 'follow')
        return this.#settle({ kind: 'undecodable', mime: this.#measured.mime })
      if (this.#escape !== '') this.#unescape(byte)
      else if (byte === 0x5c) this.#escape = '\\'
      else this.#take(byte)
    }
  }

  /** Ends the string. The result is a size or `undecodable`. */
  end(): Measured {
    if (this.#phase === 'opening') this.#body()
    if (this.#phase === 'body') this.#try(true)
    if (this.#phase === 'follow') this.#settle({ kind: 'undecodable', mime: this.#measured.mime })
    if (this.#phase === 'weigh') this.#weigh(true)
    if (this.#phase === 'meta') this.#settle({ kind: 'undecodable', mime: null })
    return this.#measured
  }

  #settle(measured: Measured): void {
    this.#measured = measured
    this.#phase = 'settled'
    this.#bytes = Buffer.alloc(0)
    this.#text = ''
    this.#reader = undefined
  }

  /** Accepts the stated size once the image has enough bytes for it; rejects it if there are too few at its end. */
  #weigh(last: boolean): void {
    const measured = this.#measured
    // Base64 encodes at most three bytes in four characters.
    const isCarried = measured.kind !== 'size' || (this.#chars * 3) / 4 >= measured.bytesMin
    if (isCarried) return this.#settle(measured)
    if (last) return this.#settle({ kind: 'undecodable', mime: measured.mime, implausible: true })
    this.#phase = 'weigh'
    this.#bytes = Buffer.alloc(0)
  }

  #unescape(byte: number): void {
    const char = String.fromCharCode(byte)
    if (this.#escape === '\\' && char !== 'u') {
      this.#escape = ''
      // \n \r \t \b \f are blanks here; \/ \\ \" are the escaped characters.
      if (!'nrtbf'.includes(char)) this.#take(byte)
      return
    }
    this.#escape += char
    if (this.#escape.length < 6) return
    const code = Number.parseInt(this.#escape.slice(2), 16)
    this.#escape = ''
    if (code < 256) this.#take(code)
  }

  #take(byte: number): void {
    if (this.#phase === 'body' || this.#phase === 'follow') return this.#decode(byte)
    if (this.#phase === 'opening') {
      if (this.#text === '' && byte <= 0x20) return
      this.#text += String.fromCharCode(byte)
      const lower = this.#text.toLowerCase()
      if (lower === opening) {
        this.#inline = true
        this.#phase = 'meta'
        this.#text = ''
      } else if (!opening.startsWith(lower)) this.#body()
      return
    }
    if (this.#phase !== 'meta') return
    if (byte !== 0x2c) {
      this.#text += String.fromCharCode(byte)
      if (this.#text.length > metaCharsMax) this.#settle({ kind: 'undecodable', mime: null })
    } else if (this.#text.toLowerCase().trimEnd().endsWith(';base64')) {
      this.#phase = 'body'
    } else this.#settle({ kind: 'undecodable', mime: null })
  }

  /** Ends the opening without `data:`: the characters so far are base64, or a link, which is not opened. */
  #body(): void {
    if (this.#link) return this.#settle({ kind: 'undecodable', mime: null })
    const text = this.#text
    this.#phase = 'body'
    for (let i = 0; i < text.length; i++) this.#decode(text.charCodeAt(i))
  }

  #decode(byte: number): void {
    const value = values[byte] as number
    if (value === blank || (this.#phase !== 'body' && this.#phase !== 'follow')) return
    if (value === padding) return this.#phase === 'body' ? this.#try(true) : undefined
    this.#held = ((this.#held << 6) | value) & 0xffff
    this.#bits += 6
    if (this.#bits < 8) return
    this.#bits -= 8
    if (this.#reader) return this.#follow(this.#reader, (this.#held >> this.#bits) & 0xff)
    if (this.#length === this.#bytes.length) this.#grow()
    this.#bytes[this.#length++] = (this.#held >> this.#bits) & 0xff
    if (this.#length === this.#tryAt) this.#try(false)
  }

  #grow(): void {
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2)
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }

  /**
   * Tries to read the size. Each attempt waits for twice the length of the one before, so all attempts together read
   * each byte at most twice.
   */
  #try(last: boolean): void {
    const measured = measure(this.#bytes.subarray(0, this.#length))
    this.#measured = measured
    if (measured.kind === 'size') return this.#weigh(false)
    if (measured.kind !== 'more') return this.#settle(measured)
    if (measured.reader && !last) {
      this.#reader = measured.reader
      this.#phase = 'follow'
      this.#bytes = Buffer.alloc(0)
      return
    }
    if (last) return this.#settle({ kind: 'undecodable', mime: measured.mime })
    this.#tryAt = Math.min(this.#tryAt * 2, measured.bytesMax)
  }

  #follow(reader: SizeReader, byte: number): void {
    reader.push(byte)
    if (reader.found === 'more') return
    this.#reader = undefined
    this.#measured = measuredOf(this.#measured.mime ?? '', reader.found)
    if (this.#measured.kind === 'size') this.#weigh(false)
    else this.#settle(this.#measured)
  }
}
