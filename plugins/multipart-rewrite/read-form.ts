import { isAscii, isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import busboy from 'busboy'
import type { Part, TextPart } from '../../src/kit/index.ts'
import { fail } from './errors.ts'
import { FormFrames } from './frame-form.ts'
import { parsePartHead, type PartHead } from './parse-part-head.ts'
import { PieceStream } from './piece-stream.ts'
import { isKnown } from './sniff.ts'
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
/** Pieces up to this size are put together before they are parsed. */
const smallBytes = 2048
const gatherBytes = 8192

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

/** One part: what its head said, how much content its frame has, and what the parser made of that. */
type Found = PartHead & {
  readonly where: string
  framedBytes: number
  parsedBytes: number
  /** Of a file: where it begins in the spool, and its first bytes. */
  start: number
  head: Buffer
  /** Of a text: its bytes, one to a character. */
  latin1: string
}

/**
 * Two readers of the same bytes. `FormFrames` walks the boundaries strictly and judges every head; busboy, which would
 * drop, merge or truncate silently what it cannot read, is given the contents as they came under heads that it cannot
 * misread: a part's number for a name. At the end both must have seen the same parts with the same lengths.
 */
class FormReading {
  readonly #spool: Spool
  readonly #limits: FormLimits
  readonly #frames: FormFrames
  readonly #parser: busboy.Busboy
  readonly #found: Found[] = []
  readonly #names = new Set<string>()
  #texts = 0
  #textsBytes = 0
  #empties = 0
  #small: Buffer = Buffer.alloc(0)
  #smallUsed = 0
  #parserError: unknown

  constructor(boundary: string, spool: Spool, limits: FormLimits) {
    this.#spool = spool
    this.#limits = limits
    this.#frames = new FormFrames(boundary, {
      head: block => this.#begin(block),
      content: bytes => this.#count(bytes),
      pass: bytes => this.#pass(bytes),
    })
    this.#parser = busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      defCharset: 'latin1',
      fileHwm: gatherBytes * 128,
      limits: { fieldSize: limits.textBytesMax + 1 },
    })
    this.#parser.on('file', (name, stream) => this.#file(Number(name), stream))
    this.#parser.on('field', (name, value) => this.#text(Number(name), value))
    this.#parser.on('error', error => {
      this.#parserError ??= error
    })
  }

  /** @throws Failure. A promise says that the disk is behind. */
  take(chunk: Buffer): Promise<void> | undefined {
    this.#frames.take(chunk)
    if (this.#parserError !== undefined) throw this.#unlike()
    return this.#spool.backlog()
  }

  async end(): Promise<readonly Part[]> {
    this.#frames.end()
    this.#finishPart()
    this.#flush()
    await this.#endParser()
    await this.#spool.finish()
    if (this.#parserError !== undefined || this.#found.some(part => part.parsedBytes !== part.framedBytes))
      throw this.#unlike()
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
    this.#countTextBytes(part.name, part.framedBytes, part.framedBytes)
    const pieces: Buffer[] = []
    for (let at = 0; at < part.framedBytes; ) {
      const piece = await file.read(at, part.framedBytes - at)
      pieces.push(Buffer.from(piece))
      at += piece.length
    }
    return toText({ ...part, latin1: Buffer.concat(pieces).toString('latin1') })
  }

  #endParser(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // A parser that fails does not always close, and one that has closed says so only once.
    if (this.#parserError !== undefined) reject(this.#unlike())
    this.#parser.once('error', () => reject(this.#unlike()))
    this.#parser.once('close', resolve)
    this.#parser.end()
    return promise
  }

  /** A part begins: judges its head, and returns the head that the parser is given. */
  #begin(block: Buffer): Buffer {
    this.#finishPart()
    const index = this.#found.length
    const where = `part ${index + 1}`
    const head = parsePartHead(block, where, this.#isFileField)
    const { name, file } = head
    const base = stripIndex(name)
    if (this.#limits.textFields.has(base)) {
      if (file) throw fail('form_field_is_text', { name }, { param: name })
      if (base !== name) throw fail('form_field_not_list', { name, wanted: base }, { param: name })
    }
    if (!file) this.#countText(name)
    this.#found.push({ ...head, where, framedBytes: 0, parsedBytes: 0, start: 0, head: Buffer.alloc(0), latin1: '' })
    return Buffer.from(`Content-Disposition: form-data; name="${index}"${file ? '; filename="f"' : ''}\r\n\r\n`)
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

  #count(bytes: number): void {
    const part = this.#found.at(-1) as Found
    part.framedBytes += bytes
    if (!part.file) this.#countTextBytes(part.name, part.framedBytes, bytes)
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
    if (this.#found.at(-1)?.framedBytes !== 0) return
    if (++this.#empties > emptyPartsMax)
      throw fail('form_too_complex', { what: 'more parts without content', max: emptyPartsMax })
  }

  /**
   * To the parser. Contents of files come out of it in the same turn and are lent; all else it keeps until a part ends,
   * and gets as a copy, small pieces together, since each costs it a microsecond.
   */
  #pass(bytes: Buffer): void {
    if (bytes.length > smallBytes) {
      this.#flush()
      this.#parser.write(this.#found.at(-1)?.file ? bytes : Buffer.from(bytes))
      return
    }
    if (this.#smallUsed + bytes.length > this.#small.length) {
      this.#flush()
      this.#small = Buffer.allocUnsafe(gatherBytes)
    }
    this.#smallUsed += bytes.copy(this.#small, this.#smallUsed)
  }

  #flush(): void {
    if (this.#smallUsed === 0) return
    this.#parser.write(this.#small.subarray(0, this.#smallUsed))
    this.#small = this.#small.subarray(this.#smallUsed)
    this.#smallUsed = 0
  }

  #file(index: number, stream: Readable): void {
    const part = this.#found[index]
    if (!part?.file) throw this.#unlike()
    stream.on('error', () => undefined)
    stream.on('data', (chunk: Buffer) => {
      if (part.parsedBytes === 0) part.start = this.#spool.bytes
      // One file after the other, or the ranges in the spool would be wrong. Not thrown: this may run in a turn of its own.
      if (part.start + part.parsedBytes !== this.#spool.bytes) this.#parserError ??= new Error('files came interleaved')
      if (part.head.length < headBytes)
        part.head = Buffer.concat([part.head, chunk.subarray(0, headBytes - part.head.length)])
      part.parsedBytes += chunk.length
      this.#spool.append(chunk)
    })
  }

  #text(index: number, latin1: string): void {
    const part = this.#found[index]
    if (!part || part.file) throw this.#unlike()
    part.latin1 = latin1
    part.parsedBytes = latin1.length
  }

  #unlike(): Error {
    return fail(
      'form_malformed',
      { where: 'it', why: 'is read differently by two readers' },
      { cause: this.#parserError },
    )
  }

  #toFile({ name, framedBytes: bytes, start, head }: Found): StoredFile {
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

function toText({ name, latin1, asciiOnly }: Found): TextPart {
  const bytes = Buffer.from(latin1, 'latin1')
  if (!(asciiOnly ? isAscii(bytes) : isUtf8(bytes))) throw fail('form_text_undecodable', { name }, { param: name })
  return { kind: 'text', name, value: bytes.toString() }
}
