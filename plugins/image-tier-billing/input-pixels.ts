import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FilePart, Json } from '../../src/plugin-api/index.ts'
import { picturePartsOf, picturesOf, type Sent } from './request-fields.ts'
import { countsInput, fieldsOf, type LineFacet, type Measured as MeasuredInputs } from './line-rules.ts'
import { headBytesMax, measuredOf, measure, type Measured, sizeOf } from './measure.ts'
import type { BillingFacet } from './schema.ts'
import type { Found, SizeReader } from './stream-size.ts'
import type { Size } from './tier.ts'

/**
 * The number of pictures of a JSON body that are measured in one turn of the event loop; a body can contain tens of
 * thousands.
 */
const picturesOfTurn = 64
/** The maximum depth of the text in an object: a picture of a chat is `{ image_url: { url } }`. */
const depthMax = 2
const scheme = 'data:'
/** The characters of about `headBytesMax` bytes, in whole groups of four. */
const pieceChars = Math.ceil(headBytesMax / 3) * 4
const notBase64 = /[^A-Za-z0-9+/_-]+/g

/** The sizes of the pictures that charge items depend on; undefined if none does. */
export async function measureInputs({ lines }: BillingFacet, sent: Sent): Promise<MeasuredInputs | undefined> {
  const counting = lines?.filter(countsInput)
  if (!counting?.length) return undefined
  const sizes = new Map<LineFacet, readonly (Size | null)[]>()
  for (const line of counting) sizes.set(line, await measurePictures(sent, fieldsOf(line)))
  return sizes
}

/**
 * The sizes of the pictures in these fields of a request; null for a picture that cannot be measured, such as a link.
 */
async function measurePictures(sent: Sent, fields: readonly string[]): Promise<readonly (Size | null)[]> {
  if (sent.body.kind === 'json') return measureAll(picturesOf(sent, fields))
  const sizes: (Size | null)[] = []
  for (const part of picturePartsOf(sent, fields))
    sizes.push(await (part.kind === 'file' ? measureFile(part) : measureText(part.value)))
  return sizes
}

async function measureAll(pictures: readonly Json[]): Promise<readonly (Size | null)[]> {
  const sizes: (Size | null)[] = []
  for (const picture of pictures) {
    if (sizes.length > 0 && sizes.length % picturesOfTurn === 0) await nextTurn()
    sizes.push(await measureJson(picture))
  }
  return sizes
}

/** Measures a picture in JSON: a text, or an object that contains the text. */
async function measureJson(picture: Json, depth = 0): Promise<Size | null> {
  if (typeof picture === 'string') return measureText(picture)
  if (typeof picture !== 'object' || picture === null || Array.isArray(picture) || depth > depthMax) return null
  for (const value of Object.values(picture)) {
    const size = await measureJson(value, depth + 1)
    if (size) return size
  }
  return null
}

function measureText(text: string): Promise<Size | null> {
  const begins = text.slice(0, scheme.length).toLowerCase() === scheme ? text.indexOf(',') + 1 : 0
  return measurePieces(decodePieces(text, begins))
}

/** The bytes of base64, in pieces. Blanks do not count, so that each piece is a whole number of groups. */
function* decodePieces(text: string, from: number): Generator<Buffer> {
  let rest = ''
  for (let at = from; at < text.length; at += pieceChars) {
    const chars = rest + text.slice(at, at + pieceChars).replaceAll(notBase64, '')
    const whole = at + pieceChars < text.length ? chars.length - (chars.length % 4) : chars.length
    yield Buffer.from(chars.slice(0, whole), 'base64')
    rest = chars.slice(whole)
  }
}

async function measureFile(part: FilePart): Promise<Size | null> {
  const measured = measure(part.head)
  if (measured.kind === 'size') return measured.size
  return part.bytes > part.head.length ? measurePieces(part.open() as AsyncIterable<Buffer>) : null
}

/** Reads a picture up to its size, which a JPEG or a TIFF may have anywhere. */
async function measurePieces(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<Size | null> {
  let head: Buffer = Buffer.alloc(0)
  let following: Extract<Measured, { kind: 'more' }> | undefined
  let isFirst = true
  // Leaving the loop closes a file.
  for await (const piece of pieces) {
    if (!isFirst) await nextTurn()
    isFirst = false
    if (following?.reader) {
      const found = readOn(following.reader, piece)
      if (found !== 'more') return sizeOf(measuredOf(following.mime ?? '', found)).size
      continue
    }
    // The piece of a file may be lent memory.
    head = Buffer.concat([head, piece])
    const measured = measure(head)
    if (measured.kind !== 'more') return sizeOf(measured).size
    if (measured.reader) following = measured
  }
  return null
}

function readOn(reader: SizeReader, piece: Buffer): Found {
  for (let i = 0; i < piece.length && reader.found === 'more'; i++) reader.push(piece[i] as number)
  return reader.found
}
