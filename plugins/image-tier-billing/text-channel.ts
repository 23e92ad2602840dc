import { PictureDigest } from '../../src/wire/index.ts'
import { ImageHead } from './image-head.ts'
import { beginnings, beginsAnother, beginsAsPicture, quotedCharsMax } from './detect-picture.ts'
import { linksOfLinkOnlyText, mayBeLinkOnly } from './link-only-text.ts'
import { sizeOf } from './measure.ts'
import { type FoundImage, tailBytes } from './scan-result.ts'

/** The minimum length of a line of base64; a shorter run between blanks is a word. */
const stretchMin = 16
/** The maximum number of characters of a text that may consist only of links; a longer one is judged by these. */
const linksCharsMax = 8192
const beginningChars = 4
const contextChars = 64
const schemeBefore = /data:[a-z0-9.+/;=-]*,$/i
const stretchOf = /[A-Za-z0-9+/_-]+/y

const other = 0
const base64 = 1
const padding = 2
const blank = 3
const kinds = new Uint8Array(128)
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_')
  kinds[char.charCodeAt(0)] = base64
for (const char of ' \t\r\n') kinds[char.charCodeAt(0)] = blank
kinds[0x3d] = padding

/** A picture or link in a text. */
export type TextPicture = {
  readonly image: Omit<FoundImage, 'index'>
  /** Equal for equal pictures: a digest, or the link itself. */
  readonly mark: string
}

/** A run of base64, possibly in several lines, that may be a picture. */
type Run = {
  chars: string
  /** The number of characters since the last blank. */
  stretch: number
  hasBlank: boolean
  isPadded: boolean
  /** The `data:` scheme that precedes it. */
  readonly scheme: string
}

/** A run that is a picture, and may be unfinished. */
type Open = {
  readonly run: Run
  readonly head: ImageHead
  readonly digest: PictureDigest
  chars: number
  /** Whether it was charged before its end. */
  isCharged: boolean
  /** Pieces with its last characters: the offset of each, and the number of characters before it. */
  tail: { readonly at: number; readonly before: number }[]
}

/**
 * Finds the pictures in a text that arrives in pieces, such as the deltas of a stream, wherever they are cut. A
 * picture is base64 that begins like one and is longer than any quotation, or each link in a text that consists only
 * of links.
 */
export class TextChannel {
  readonly #mayBeLinks: boolean
  #found: TextPicture[] = []
  #runs: Run[] = []
  #open: Open | undefined
  /** The preceding characters. */
  #context = ''
  /** Whether a run may begin at the next character. */
  #isBorder = true
  /** The text so far and the offset of its first address, as long as it may consist only of links. */
  #start: { text: string; from: number | undefined } | undefined
  /** Whether the last piece contained part of a picture. */
  hasPicture = false

  /** @param mayBeLinks in a text that consists only of links, each link is a picture */
  constructor(mayBeLinks: boolean) {
    this.#mayBeLinks = mayBeLinks
    if (mayBeLinks) this.#start = { text: '', from: undefined }
  }

  /** The offset of the first byte that has to wait until its meaning is known. */
  get from(): number | undefined {
    return this.#open?.tail[0]?.at ?? this.#start?.from
  }

  /** The pictures that have ended since the last call. */
  take(): readonly TextPicture[] {
    const found = this.#found
    if (found.length > 0) this.#found = []
    return found
  }

  /** Reads the next piece, unescaped; its first byte is at `at`. */
  write(text: string, at: number): void {
    if (text === '') return
    this.hasPicture = this.#open !== undefined
    this.#readStart(text, at)
    const open = this.#open
    // A piece may begin with a picture, even before another one has ended.
    this.#isBorder = true
    if (open && !open.isCharged) open.tail.push({ at, before: open.chars })
    for (let i = 0; i < text.length; ) i = this.#step(text, i, at)
    this.#context = (this.#context + text.slice(-contextChars)).slice(-contextChars)
    this.#shorten()
  }

  /** Ends one string of the text, which may consist only of links. */
  endString(): void {
    this.#links(this.#start?.text ?? '')
    this.#start = this.#mayBeLinks ? { text: '', from: undefined } : undefined
  }

  /** Ends the text. */
  end(): void {
    if (this.#open) this.#close(this.#open)
    this.#runs = []
    this.endString()
  }

  /** Stops holding: the received part of a picture is charged, and its remainder passes. */
  settle(): void {
    const open = this.#open
    if (open && !open.isCharged) {
      this.#report(open)
      open.isCharged = true
      open.tail = []
    }
    this.#links(this.#start?.text ?? '')
    this.#start = undefined
  }

  #readStart(text: string, at: number): void {
    const start = this.#start
    if (!start) return
    start.text += text
    // A text leads nowhere before the address of its first link, so the beginning of a sentence need not wait.
    if (start.from === undefined && start.text.includes('//')) start.from = at
    if (!mayBeLinkOnly(start.text)) this.#start = undefined
    else if (start.text.length > linksCharsMax) this.settle()
  }

  #links(text: string): void {
    for (const mark of linksOfLinkOnlyText(text)) this.#found.push({ image: { kind: 'link', size: null }, mark })
  }

  #step(text: string, i: number, at: number): number {
    const open = this.#open
    if (open && this.#runs.length === 0 && !this.#isBorder) {
      stretchOf.lastIndex = i
      const stretch = stretchOf.exec(text)?.[0]
      if (stretch !== undefined) {
        this.#more(open, stretch)
        return i + stretch.length
      }
    }
    const code = text.charCodeAt(i)
    const kind = code < 128 ? (kinds[code] as number) : other
    if (kind === base64) this.#char(text, i, at)
    else this.#border(kind)
    return i + 1
  }

  #char(text: string, i: number, at: number): void {
    const char = text[i] as string
    if (this.#open?.run.isPadded) this.#close(this.#open)
    if (this.#isBorder) this.#runs.push(this.#begin(text, i))
    this.#isBorder = false
    if (this.#open) this.#more(this.#open, char)
    if (this.#runs.length === 0) return
    for (const run of this.#runs) {
      run.chars += char
      run.stretch++
    }
    this.#runs = this.#runs.filter(mayBePicture)
    const run = this.#runs.find(one => isPicture(one) && (!this.#open || beginsAnother(one.chars)))
    if (run) this.#promote(run, at)
  }

  #begin(text: string, i: number): Run {
    const before = i < contextChars ? this.#context + text.slice(0, i) : text.slice(i - contextChars, i)
    const scheme = schemeBefore.exec(before)?.[0] ?? ''
    return { chars: '', stretch: 0, hasBlank: false, isPadded: false, scheme }
  }

  #promote(run: Run, at: number): void {
    if (this.#open) this.#close(this.#open)
    this.#runs = []
    this.hasPicture = true
    this.#start = undefined
    const digest = new PictureDigest()
    digest.write(Buffer.from(run.scheme), 0, run.scheme.length)
    const tail = [{ at, before: 0 }]
    this.#open = { run, head: new ImageHead({ link: false }), digest, chars: 0, isCharged: false, tail }
    const { chars } = run
    run.chars = ''
    this.#more(this.#open, chars)
  }

  #more(open: Open, text: string): void {
    open.chars += text.length
    open.run.stretch += text.length
    const bytes = Buffer.from(text, 'latin1')
    open.digest.write(bytes, 0, bytes.length)
    if (!open.head.settled) open.head.write(bytes, 0, bytes.length)
  }

  #border(kind: number): void {
    this.#isBorder = true
    const runs = this.#open ? [...this.#runs, this.#open.run] : this.#runs
    for (const run of runs) {
      if (kind === padding) run.isPadded = true
      else if (kind === other || run.stretch < stretchMin) this.#drop(run)
      else {
        run.stretch = 0
        run.hasBlank = true
      }
    }
    if (this.#open && kind === padding) this.#open.digest.write(Buffer.from('='), 0, 1)
  }

  #drop(run: Run): void {
    if (this.#open?.run === run) this.#close(this.#open)
    else this.#runs = this.#runs.filter(one => one !== run)
  }

  #close(open: Open): void {
    this.#open = undefined
    if (!open.isCharged) this.#report(open)
  }

  #report({ head, digest }: Open): void {
    this.#found.push({ image: { kind: 'bytes', ...sizeOf(head.end()) }, mark: digest.end() })
  }

  /** Drops pieces of a picture that need not wait: only its last characters do. */
  #shorten(): void {
    const open = this.#open
    if (!open) return
    while (open.tail[1] && open.chars - open.tail[1].before >= tailBytes) open.tail.shift()
  }
}

function mayBePicture({ chars, isPadded }: Run): boolean {
  if (isPadded) return false
  if (chars.length <= beginningChars) return beginnings.some(one => one.startsWith(chars))
  return chars.length <= quotedCharsMax || beginsAsPicture(chars)
}

function isPicture({ chars, stretch, hasBlank }: Run): boolean {
  return chars.length > quotedCharsMax && (!hasBlank || stretch >= stretchMin)
}
