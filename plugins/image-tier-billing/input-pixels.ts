import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FilePart, Json } from '../../src/plugin-api/index.ts'
import { fieldOf, isForwarded, picturesOf, type Sent } from './request-fields.ts'
import { countsInput, fieldsOf, type LineFacet, type Measured } from './line-rules.ts'
import { headBytesMax, measure } from './measure.ts'
import type { BillingFacet } from './schema.ts'
import type { Size } from './tier.ts'

/**
 * The number of pictures of a JSON body that are measured in one turn of the event loop; a body can contain tens of
 * thousands.
 */
const picturesOfTurn = 64

/** The sizes of the pictures that charge items depend on; undefined if none does. */
export async function measureInputs({ lines }: BillingFacet, sent: Sent): Promise<Measured | undefined> {
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
  const { body, family, operation } = sent
  if (body.kind === 'json') return measureAll(picturesOf(sent, fields))
  if (body.kind !== 'form') return []
  const rule = family.forward.get(operation)
  const sizes: (Size | null)[] = []
  for (const part of body.parts) {
    if (!fields.includes(fieldOf(part.name))) continue
    if (part.kind === 'file') sizes.push(await measureFile(part))
    else if (part.value !== '' && isForwarded(rule, part.name)) sizes.push(measureText(part.value))
  }
  return sizes
}

async function measureAll(pictures: readonly Json[]): Promise<readonly (Size | null)[]> {
  const sizes: (Size | null)[] = []
  for (const picture of pictures) {
    if (sizes.length > 0 && sizes.length % picturesOfTurn === 0) await nextTurn()
    sizes.push(measureJson(picture))
  }
  return sizes
}

/** Measures a picture in JSON: a text, or an object that contains the text. */
function measureJson(picture: Json): Size | null {
  if (typeof picture === 'string') return measureText(picture)
  if (typeof picture !== 'object' || picture === null || Array.isArray(picture)) return null
  const texts = Object.values(picture).filter(value => typeof value === 'string')
  for (const text of texts) {
    const size = measureText(text)
    if (size) return size
  }
  return null
}

function measureText(text: string): Size | null {
  const begins = text.startsWith('data:') ? text.indexOf(',') + 1 : 0
  return measureHead(Buffer.from(text.slice(begins, begins + Math.ceil((headBytesMax * 4) / 3)), 'base64'))
}

async function measureFile(part: FilePart): Promise<Size | null> {
  const size = measureHead(part.head)
  return size ?? (part.bytes > part.head.length ? measureHead(await readHead(part.open())) : null)
}

async function readHead(source: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop closes the source.
  for await (const chunk of source as AsyncIterable<Buffer>) {
    chunks.push(Buffer.from(chunk))
    length += chunk.length
    if (length >= headBytesMax) break
  }
  return Buffer.concat(chunks, length)
}

function measureHead(head: Buffer): Size | null {
  const measured = measure(head)
  return measured.kind === 'size' ? measured.size : null
}
