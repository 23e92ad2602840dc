import { ImageHead } from './image-head.ts'
import { beginnings, beginsAnother } from './detect-picture.ts'
import { sizeOf } from './measure.ts'
import type { FoundImage } from './scan-result.ts'

const headChars = 64
const beginningChars = 4
const schemeBytesMax = 256
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const slash = 0x2f
/**
 * Characters that may begin a separator between two pictures: padding, a comma, a blank, a backslash. Other characters
 * of a separator follow one of these.
 */
const borders = [0x3d, comma, 0x20, backslash]
const betweenBytes = new Set(Buffer.from('=,;| nrt'))
const base64Byte = /[A-Za-z0-9+/_-]/

/**
 * The state. `body`: no separator has begun; `between`: inside a separator; `begun`: base64 follows it; `scheme`: a
 * `data:` scheme follows it.
 */
type Phase = 'body' | 'between' | 'begun' | 'scheme'

/**
 * Reads the pictures of one string, as sent. There is usually one; a string with several consecutive blocks of base64
 * has one for each.
 */
export class PictureBlocks {
  readonly first: ImageHead
  /** The pictures after the first. */
  readonly more: ImageHead[] = []
  /** The end of the piece in which the second of several pictures began. */
  second: number | undefined
  #phase: Phase = 'body'
  /** The base64 after a separator so far. */
  #begun = ''
  #isEscape = false
  /** Whether more of the separator has arrived than a backslash. */
  #isPastBorder = false
  #schemeBytes = 0
  #isPastScheme = false
  #hasBegun = false

  constructor(kind: { readonly link: boolean }) {
    this.first = new ImageHead(kind)
  }

  /** Reads `piece` from `from` to `to`; the last byte precedes `end`. @returns whether another picture has begun */
  write(piece: Buffer, from: number, to: number, end: number): boolean {
    const before = this.more.length
    const last = this.more.at(-1) ?? this.first
    if (!last.settled) last.write(piece, from, to)
    const next = borders.map(() => -1)
    for (let at = this.#start(piece, from, to); at < to; )
      if (this.#phase === 'body') at = this.#toBorder(piece, at, to, next)
      else this.#step(piece, at++, to)
    if (this.more.length > 0) this.second ??= end
    return this.more.length > before
  }

  /** The pictures at the end of the string: usually one. */
  measure(): readonly Omit<FoundImage, 'index'>[] {
    return [this.first, ...this.more].map(head => ({ kind: 'bytes', ...sizeOf(head.end()) }))
  }

  /** The offset from which separators are searched: after the beginning of the first picture's base64. */
  #start(piece: Buffer, from: number, to: number): number {
    if (this.#hasBegun) return from
    if (this.first.isOpening) return to
    let at = from
    if (!this.#isPastScheme && this.first.inline) {
      const found = piece.indexOf(comma, from)
      this.#isPastScheme = found >= 0 && found < to
      at = this.#isPastScheme ? found + 1 : to
    }
    for (; at < to && !this.#hasBegun; at++) {
      const byte = piece[at] as number
      const wasEscape = this.#isEscape
      this.#isEscape = !wasEscape && byte === backslash
      this.#hasBegun = wasEscape ? byte === slash : base64Byte.test(String.fromCharCode(byte))
    }
    return at
  }

  /** @param next the next position of each border character, as far as was searched */
  #toBorder(piece: Buffer, from: number, to: number, next: number[]): number {
    let least = to
    for (let i = 0; i < borders.length; i++) {
      let at = next[i] as number
      if (at < from) {
        const found = piece.indexOf(borders[i] as number, from)
        next[i] = at = found < 0 ? to : found
      }
      if (at < least) least = at
    }
    if (least < to) {
      this.#phase = 'between'
      this.#isPastBorder = false
    }
    return least
  }

  #step(piece: Buffer, at: number, to: number): void {
    const byte = piece[at] as number
    const wasEscape = this.#isEscape
    this.#isEscape = !wasEscape && byte === backslash
    if (this.#isEscape) return
    if (this.#phase === 'scheme') return this.#scheme(byte)
    const isBlank = betweenBytes.has(byte) && (wasEscape || byte < 0x60)
    // A slash may be escaped anywhere.
    if (this.#phase === 'between' && !this.#isPastBorder && wasEscape && byte === slash) return this.#reset('body')
    if (isBlank) this.#isPastBorder = true
    if (this.#phase === 'between' && isBlank) return
    if (this.#begun === 'data' && byte === colon) {
      this.#phase = 'scheme'
      this.#schemeBytes = 0
      return
    }
    const char = String.fromCharCode(byte)
    if (!base64Byte.test(char) || (wasEscape && byte !== slash)) return this.#reset(isBlank ? 'between' : 'body')
    this.#phase = 'begun'
    this.#begun += char
    if (this.#begun.length > beginningChars && this.#begun.startsWith('data')) return this.#reset('body')
    if (this.#begun.length === beginningChars && this.#begun !== 'data' && !beginnings.includes(this.#begun))
      return this.#reset('body')
    if (this.#begun.length === headChars) this.#begin(piece, at + 1, to)
  }

  #scheme(byte: number): void {
    if (byte === comma) this.#reset('between')
    else if (++this.#schemeBytes > schemeBytesMax) this.#reset('body')
  }

  #reset(phase: Phase): void {
    this.#begun = ''
    this.#phase = phase
  }

  #begin(piece: Buffer, from: number, to: number): void {
    if (beginsAnother(this.#begun)) {
      const head = new ImageHead({ link: false })
      head.write(Buffer.from(this.#begun, 'latin1'), 0, headChars)
      head.write(piece, from, to)
      this.more.push(head)
    }
    this.#reset('body')
  }
}

/** @returns the pictures at the links of a string: usually one */
export function linkedImages(text: string): readonly Omit<FoundImage, 'index'>[] {
  return text.split(/[\s,;|](?=(?:https?:)?\/\/)/i).map(() => ({ kind: 'link', size: null }))
}
