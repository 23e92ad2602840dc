import { isAscii, isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { isKnown, type Part, type TextPart } from '../../src/kit/index.ts'
import { fail } from './errors.ts'
import { FormFrames } from './frame-form.ts'
import { parsePartHead, type PartHead } from './parse-part-head.ts'
import { PieceStream } from './piece-stream.ts'
import type { Spool } from './spool.ts'
import { stripIndex } from './strip-index.ts'
import { takeChunks } from './take-chunks.ts'
import type { StoredFile } from './write-form.ts'

export type FormLimits = {
  /** Most bytes of one text field. */
  readonly textBytesMax: number
  /** Fields that are one text each: as a file or as a list they are refused. */
  readonly textFields: ReadonlySet<string>
  /** Fields under which files stand, in some family that this may be for: what is there needs no filename to be one. */
  readonly fileFields?: ReadonlySet<string>
}

/** Most text fields of a form, and most bytes of all of them. Files are not counted: only the body limit bounds them. */
export const textPartsMax = 100
export const textsBytesMax = 1024 * 1024
/** Most parts without content. */
export const emptyPartsMax = 64

const headBytes = 64
const hashBytes = 256 * 1024
const nothing = Buffer.alloc(0)
/** The room that texts are put together in begins with so many bytes. */
const textRoomBytes = 1024

/**
 * Reads a form to its end: texts into memory, files into the spool, parts in the order received. When it throws, the
 * source is left paused and the spool to be discarded.
 * @throws Failure of `errors.ts`, or the Failure that the source was destroyed with
 */
export async function readForm(
  source: Readable,
  boundary: string,
  spool: Spool,
  limits: FormLimits,
): Promise<readonly Part[]> {
  const reading = new FormReading(boundary, spool, limits)
  await takeChunks(source, chunk => reading.take(chunk))
  return reading.end()
}

/** One part: what its head said, and its content. */
type Found = PartHead & {
  bytes: number
  /** Of a file: where it begins in the spool, and its first bytes. */
  readonly start: number
  head: Buffer
  /** Of a text; undefined when it has not ended, or its bytes are none in its charset. */
  text: string | undefined
}

/** What `FormFrames` finds: heads are judged, texts put together, files appended to the spool. */
class FormReading {
  readonly #spool: Spool
  readonly #limits: FormLimits
  readonly #frames: FormFrames
  readonly #found: Found[] = []
  readonly #names = new Set<string>()
  #texts = 0
  #textsBytes = 0
  #empties = 0
  /** Where the text is put together that is being read: it may come byte by byte. */
  #room = Buffer.allocUnsafe(textRoomBytes)

  constructor(boundary: string, spool: Spool, limits: FormLimits) {
    this.#spool = spool
    this.#limits = limits
    this.#frames = new FormFrames(boundary, {
      head: block => this.#begin(block),
      content: bytes => this.#add(bytes),
    })
  }

  /** @throws Failure. A promise says that the disk is behind. */
  take(chunk: Buffer): Promise<void> | undefined {
    this.#frames.take(chunk)
    return this.#spool.backlog()
  }

  async end(): Promise<readonly Part[]> {
    this.#frames.end()
    this.#finishPart()
    await this.#spool.finish()
    const parts: Part[] = []
    for (const part of this.#found) parts.push(await this.#toPart(part))
    return parts
  }

  /** What says that it is text, and is no file by its first bytes, is a text, under whatever field it stands. */
  async #toPart(part: Found): Promise<Part> {
    if (!part.file) return toText(part)
    const file = this.#toFile(part)
    if (!part.claimsText || isKnown(part.head)) return file
    this.#countText(part.name)
    this.#countTextBytes(part.name, part.bytes, part.bytes)
    const pieces: Buffer[] = []
    for (let at = 0; at < part.bytes; ) {
      const piece = await file.read(at, part.bytes - at)
      pieces.push(Buffer.from(piece))
      at += piece.length
    }
    return toText({ ...part, text: decode(Buffer.concat(pieces), part) })
  }

  /** A part begins: judges its head. */
  #begin(block: Buffer): void {
    this.#finishPart()
    const head = parsePartHead(block, `part ${this.#found.length + 1}`, this.#isFileField)
    const { name, file } = head
    const base = stripIndex(name)
    if (this.#limits.textFields.has(base)) {
      if (file) throw fail('form_field_is_text', { name }, { param: name })
      if (base !== name) throw fail('form_field_not_list', { name, wanted: base }, { param: name })
    }
    if (!file) this.#countText(name)
    this.#found.push({ ...head, bytes: 0, start: this.#spool.bytes, head: nothing, text: undefined })
  }

  readonly #isFileField = (name: string): boolean => {
    const base = stripIndex(name)
    return this.#limits.fileFields?.has(base) === true && !this.#limits.textFields.has(base)
  }

  /** One text more. Which of two values counts would be anybody's guess: ours for the bill, the upstream's for the work. */
  #countText(name: string): void {
    if (stripIndex(name) === name && this.#names.has(name))
      throw fail('form_field_duplicate', { name }, { param: name })
    this.#names.add(name)
    if (++this.#texts > textPartsMax) throw fail('form_too_complex', { what: 'more text fields', max: textPartsMax })
  }

  #add(bytes: Buffer): void {
    const part = this.#found.at(-1) as Found
    const before = part.bytes
    part.bytes += bytes.length
    if (part.file) {
      if (before < headBytes) part.head = Buffer.concat([part.head, bytes.subarray(0, headBytes - before)])
      this.#spool.append(bytes)
      return
    }
    this.#countTextBytes(part.name, part.bytes, bytes.length)
    if (part.bytes > this.#room.length) this.#widen(part.bytes, before)
    bytes.copy(this.#room, before)
  }

  #widen(bytes: number, used: number): void {
    const room = Buffer.allocUnsafe(2 * bytes)
    this.#room.copy(room, 0, 0, used)
    this.#room = room
  }

  /** @param whole of the field so far, `bytes` of which are new */
  #countTextBytes(name: string, whole: number, bytes: number): void {
    if (whole > this.#limits.textBytesMax)
      throw fail('form_text_too_long', { name, max: this.#limits.textBytesMax }, { param: name })
    this.#textsBytes += bytes
    if (this.#textsBytes > textsBytesMax)
      throw fail('form_too_complex', { what: 'more text in its fields', max: `${textsBytesMax} bytes` })
  }

  #finishPart(): void {
    const part = this.#found.at(-1)
    if (!part) return
    if (!part.file) part.text = decode(this.#room.subarray(0, part.bytes), part)
    if (part.bytes === 0 && ++this.#empties > emptyPartsMax)
      throw fail('form_too_complex', { what: 'more parts without content', max: emptyPartsMax })
  }

  #toFile({ name, bytes, start, head }: Found): StoredFile {
    const spool = this.#spool
    const read: StoredFile['read'] = (at, most, target) => spool.read(start + at, most, target)
    const open = () => new PieceStream([{ bytes, read }])
    let hash: Promise<string> | undefined
    const sha256 = () => (hash ??= hashPiece(bytes, read))
    return { kind: 'file', name, bytes, head, read, open, sha256 }
  }
}

async function hashPiece(bytes: number, read: StoredFile['read']): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes; ) {
    const chunk = await read(at, Math.min(hashBytes, bytes - at))
    hash.update(chunk)
    at += chunk.length
  }
  return hash.digest('hex')
}

/** The text that bytes are; undefined when they are none. */
function decode(bytes: Buffer, { asciiOnly }: PartHead): string | undefined {
  return (asciiOnly ? isAscii(bytes) : isUtf8(bytes)) ? bytes.toString() : undefined
}

function toText({ name, text }: Found): TextPart {
  if (text === undefined) throw fail('form_text_undecodable', { name }, { param: name })
  return { kind: 'text', name, value: text }
}
