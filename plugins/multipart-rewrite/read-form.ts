import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import busboy, { type FieldInfo, type FileInfo } from 'busboy'
import { type FilePart, isKnown, type Part } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import { PieceStream } from './piece-stream.ts'
import type { Spool } from './spool.ts'
import { baseOf, stripIndex } from './strip-index.ts'
import { takeChunks } from './take-chunks.ts'
import type { StoredFile } from './write-form.ts'

export type FormLimits = {
  /** Maximum bytes of one text field. */
  readonly textBytesMax: number
  /** Fields that must be a single text: as a file, as a list or a second time they are refused. */
  readonly textFields: ReadonlySet<string>
  /** File fields of the possible families: such a part is a file even without a filename. */
  readonly fileFields?: ReadonlySet<string>
  /** Files are images: ignores the types that the client sends. */
  readonly areImages?: boolean
}

/** Maximum text fields of a form, and maximum bytes of all of them. */
export const textPartsMax = 100
export const textsBytesMax = 1024 * 1024
/** Maximum parts of any kind: nothing else limits the number of empty files in a body. */
export const partsMax = 10_000
const nameBytesMax = 256

const headBytes = 64
const hashBytes = 256 * 1024
/** Smaller chunks are merged, because busboy keeps a view of each while it reads a text. */
const smallBytes = 16_384
/** Exceeds the bytes that are read before a file, so that busboy never waits for them. */
const fileBytesAhead = 1024 * 1024
const identities = new Set(['7bit', '8bit', 'binary'])
const nothing = Buffer.alloc(0)
/** The replacement of bytes that are not text. */
const lost = '\ufffd'

/**
 * Reads a form to its end with busboy: texts into memory, files into the spool, parts in the order received. If it
 * throws, the source is left paused and the caller must discard the spool. Parts that busboy skips count as not sent
 * (`docs/decisions/0025-busboy-reads-forms.md`).
 * @throws Failure of `errors.ts`, or the Failure that the source was destroyed with
 */
export async function readForm(
  source: Readable,
  boundary: string,
  spool: Spool,
  limits: FormLimits,
): Promise<readonly Part[]> {
  const reading = new FormReading(boundary, spool, limits)
  await takeChunks(source, reading)
  return reading.end()
}

/**
 * busboy has no other sign that the closing boundary has arrived. It continues with the chunk that contains it, and
 * waits for the end of a file that begins there.
 */
type Reader = busboy.Busboy & { readonly _complete: boolean }

/** The headers of a file in the form, and the position of its bytes in the spool. */
type Found = {
  readonly kind: 'found'
  readonly name: string
  readonly fileName: string | undefined
  readonly contentType: string
  start: number
  bytes: number
  head: Buffer
}

class FormReading {
  readonly #busboy: Reader
  readonly #spool: Spool
  readonly #limits: FormLimits
  readonly #found: (Part | Found)[] = []
  readonly #names = new Set<string>()
  #parts = 0
  #texts = 0
  #textsBytes = 0
  #failure: unknown
  /** The stream of the last file that has begun. */
  #last: Readable | undefined
  /** The last part, if it is neither a text nor a file: it may have no bytes. */
  #nameless: { readonly stream: Readable; readonly refuse: () => Error } | undefined
  #small = nothing
  #used = 0

  constructor(boundary: string, spool: Spool, limits: FormLimits) {
    this.#spool = spool
    this.#limits = limits
    this.#busboy = busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      defParamCharset: 'utf8',
      // Keeps the bytes: the text encoding is decided here, and a file may have no filename.
      defCharset: 'latin1',
      fileHwm: fileBytesAhead,
      limits: { fieldSize: textsBytesMax + 1 },
    }) as Reader
    this.#busboy
      .on('field', (name, value, info) => this.#judge(() => this.#addField(name, value, info)))
      .on('file', (name, stream, info) => this.#judge(() => this.#addFile(name, stream, info)))
      .on('error', error => this.#judge(() => throwMalformed(error)))
  }

  /** Whether the chunks received so far are no longer needed: busboy keeps views of them while it reads a text. */
  get isCopied(): boolean {
    return this.#last?.readableEnded === false
  }

  /** @throws Failure. Returns a promise if the disk is slower. */
  take(chunk: Buffer): Promise<void> | undefined {
    if (chunk.length >= smallBytes) {
      this.#flush()
      this.#write(chunk)
    } else {
      if (this.#used + chunk.length > smallBytes) this.#flush()
      if (this.#used === 0) this.#small = Buffer.allocUnsafeSlow(smallBytes)
      this.#used += chunk.copy(this.#small, this.#used)
    }
    return this.#spool.backlog()
  }

  async end(): Promise<readonly Part[]> {
    this.#flush()
    if (!this.#busboy._complete) throw fail('form_incomplete')
    const last = this.#last
    if (last?.readableEnded === false) await new Promise<void>(resolve => void last.once('end', resolve))
    if (this.#failure) throw this.#failure
    await this.#spool.finish()
    const parts: Part[] = []
    for (const part of this.#found) {
      if (part.kind !== 'found') parts.push(part)
      // Browsers send this for an empty file input.
      else if (part.bytes > 0 || part.fileName !== undefined) parts.push(this.#toFile(part))
    }
    return parts
  }

  #flush(): void {
    const bytes = this.#small.subarray(0, this.#used)
    this.#used = 0
    if (bytes.length > 0) this.#write(bytes)
  }

  #write(chunk: Buffer): void {
    if (!this.#failure && !this.#busboy._complete) this.#busboy.write(chunk)
    this.#judge()
    if (this.#failure) throw this.#failure
  }

  /**
   * Runs a step; the first failure counts, because busboy's streams call at moments when it would not be caught.
   * Ignores everything after the end.
   */
  #judge(take?: () => void): void {
    if (this.#failure || this.#busboy._complete) return
    try {
      this.#judgeLast()
      take?.()
    } catch (error) {
      this.#failure = error
    }
  }

  #addField(given: string | undefined, value: string | undefined, info: FieldInfo): void {
    const name = this.#judgeHead(given, info)
    const { textFields, textBytesMax } = this.#limits
    const wanted = baseOf(name)
    if (this.#isFileField(name)) {
      if (value === '') return
      const file = toFile(name, value, info)
      if (file) return void this.#found.push(file)
    } else if (!isText(info.mimeType)) throw nameless(this.#parts, info)
    if (wanted !== name && textFields.has(wanted)) throw fail('form_field_not_list', { name, wanted }, { param: name })
    // It is not defined which of two values counts: the gateway could charge one while the upstream uses the other.
    if (textFields.has(name) && this.#names.has(name)) throw fail('form_field_duplicate', { name }, { param: name })
    this.#names.add(name)
    if (++this.#texts > textPartsMax) throw fail('form_too_complex', { what: 'more text fields', max: textPartsMax })
    const text = decode(value)
    if (text === undefined) throw fail('form_text_undecodable', { name }, { param: name })
    const bytes = Buffer.byteLength(text)
    if (bytes > textBytesMax || info.valueTruncated)
      throw fail('form_text_too_long', { name, max: textBytesMax }, { param: name })
    this.#textsBytes += bytes
    if (this.#textsBytes > textsBytesMax)
      throw fail('form_too_complex', { what: 'more text in its fields', max: `${textsBytesMax} bytes` })
    this.#found.push({ kind: 'text', name, value: text })
  }

  #addFile(given: string | undefined, stream: Readable, info: FileInfo): void {
    // The errors of the stream are those of the form.
    stream.on('error', () => undefined)
    this.#last = stream
    const name = this.#judgeHead(given, info)
    const fileName: string | undefined = info.filename
    if (fileName !== undefined && this.#limits.textFields.has(baseOf(name)))
      throw fail('form_field_is_text', { name }, { param: name })
    const file: Found = { kind: 'found', name, fileName, contentType: info.mimeType, start: 0, bytes: 0, head: nothing }
    this.#found.push(file)
    const isFile = fileName !== undefined || this.#isFileField(name)
    const place = this.#parts
    const refuse = (): Error => nameless(place, info)
    if (!isFile) this.#nameless = { stream, refuse }
    stream.on('data', (bytes: Buffer) => {
      if (isFile) this.#append(file, bytes)
      else this.#failure ??= refuse()
    })
  }

  /** The bytes of a part arrive before the next part begins, but its stream emits them later. */
  #judgeLast(): void {
    const last = this.#nameless
    if (last && last.stream.readableLength > 0) throw last.refuse()
  }

  #append(file: Found, bytes: Buffer): void {
    if (this.#failure) return
    if (file.bytes === 0) file.start = this.#spool.bytes
    if (file.start + file.bytes !== this.#spool.bytes)
      this.#failure ??= new Error('busboy gave the bytes of two files in turns')
    if (file.bytes < headBytes) file.head = Buffer.concat([file.head, bytes.subarray(0, headBytes - file.bytes)])
    file.bytes += bytes.length
    this.#spool.append(bytes)
  }

  /** @throws Failure for an unusable part */
  #judgeHead(
    name: string | undefined,
    { encoding, mimeType }: Omit<FieldInfo, 'nameTruncated' | 'valueTruncated'>,
  ): string {
    const malformed = (why: string) => fail('form_malformed', { where: `part ${this.#parts}`, why })
    if (++this.#parts > partsMax) throw fail('form_too_complex', { what: 'more parts', max: partsMax })
    if (name === undefined) throw malformed('has no name')
    if (name.includes(lost)) throw malformed('has a name that is not UTF-8')
    if (Buffer.byteLength(name) > nameBytesMax) throw malformed(`has a name of more than ${nameBytesMax} bytes`)
    if (!identities.has(encoding)) throw malformed('has a content-transfer-encoding: send the raw bytes')
    if (mimeType.startsWith('multipart/')) throw malformed('is a nested form')
    return name
  }

  #isFileField(name: string): boolean {
    const base = stripIndex(name)
    return this.#limits.fileFields?.has(base) === true && !this.#limits.textFields.has(base)
  }

  #toFile({ name, fileName, contentType, start, bytes, head }: Found): StoredFile {
    const spool = this.#spool
    const claimed = this.#limits.areImages ? undefined : { fileName, contentType }
    return storedFile({ name, bytes, head, ...(claimed && { claimed }) }, (at, most, target) =>
      spool.read(start + at, most, target),
    )
  }
}

/**
 * The file that came without a filename in a file field, and so was read as a text; undefined if it is a text.
 * @throws Failure form_field_is_file if its bytes are lost: it was too long, or had a charset
 */
function toFile(name: string, value: string | undefined, info: FieldInfo): FilePart | undefined {
  const isLost = value === undefined || info.valueTruncated || value.includes(lost)
  if (isLost || (!isBytes(value) && !isText(info.mimeType))) throw fail('form_field_is_file', { name }, { param: name })
  const content = Buffer.from(value, 'latin1')
  if (isText(info.mimeType) && !(isBytes(value) && isKnown(content))) return undefined
  const about = { name, bytes: content.length, head: content.subarray(0, headBytes) }
  return storedFile(about, (at, most) => content.subarray(at, at + most))
}

function storedFile(
  about: Pick<StoredFile, 'name' | 'bytes' | 'head' | 'claimed'>,
  read: StoredFile['read'],
): StoredFile {
  const { bytes } = about
  let hash: Promise<string> | undefined
  return {
    ...about,
    kind: 'file',
    read,
    open: () => new PieceStream([{ bytes, read }]),
    sha256: () => (hash ??= hashPiece(bytes, read)),
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

/** Whether each character may be a byte. */
function isBytes(value: string): boolean {
  return !/[^\0-\xff]/.test(value)
}

function nameless(place: number, { mimeType }: { readonly mimeType: string }): Error {
  const why = `is ${mimeType} without a filename: add a filename`
  return fail('form_malformed', { where: `part ${place}`, why })
}

function isText(mimeType: string): boolean {
  return mimeType.startsWith('text/') || mimeType === 'application/json'
}

/**
 * The text of a field; undefined if it has none. busboy does not report whether the part had a charset. With a charset,
 * the text is decoded; without one, each character is a byte, and bytes that are valid UTF-8 are hardly ever anything
 * else. Otherwise, text that is mostly UTF-8 is damaged, and any other was decoded, or is Latin-1.
 */
function decode(value: string | undefined): string | undefined {
  if (value === undefined || value.includes(lost)) return undefined
  if (!isBytes(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  if (isUtf8(bytes)) return bytes.toString()
  const damaged = bytes.toString().replaceAll(/[\0-\x7f]/g, '')
  return damaged.replaceAll(lost, '').length > damaged.length / 2 ? undefined : value
}

function throwMalformed(cause: unknown): never {
  throw fail('form_malformed', { where: 'a part', why: 'has malformed headers' }, { cause })
}
