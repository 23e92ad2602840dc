import { Readable } from 'node:stream'
import type { Composed, Random } from '../../src/plugin-api/index.ts'
import { FileBytes } from './pictures.ts'
import { Mixed } from './template.ts'
import { toBase64 } from './to-base64.ts'

type Segment = Buffer | FileBytes

/** The body of a filled template, as JSON: its files are read during sending. */
export function composeJson(value: unknown, random: Pick<Random, 'bytes'>): Composed {
  const mark = `@${random.bytes(12).toString('hex')}:`
  const files: FileBytes[] = []
  const markOf = (file: FileBytes): string => `${mark}${files.push(file) - 1}@`
  const text = JSON.stringify(value, (_name, one: unknown) => {
    if (one instanceof FileBytes) return markOf(one)
    if (!(one instanceof Mixed)) return one
    return one.parts.map(part => (part instanceof FileBytes ? markOf(part) : String(part))).join('')
  })
  const [first = '', ...more] = text.split(mark)
  const segments: Segment[] = [Buffer.from(first)]
  for (const piece of more) {
    const end = piece.indexOf('@')
    segments.push(files[Number(piece.slice(0, end))] as FileBytes, Buffer.from(piece.slice(end + 1)))
  }
  return compose('application/json', segments)
}

/** The same as a form (RFC 7578): texts, files, and lists of either under one name. */
export function composeForm(value: unknown, random: Pick<Random, 'bytes'>): Composed {
  const boundary = `tollgate-${random.bytes(16).toString('hex')}`
  const segments: Segment[] = []
  let text = ''
  const add = (name: string, one: unknown): void => {
    if (one === null || one === undefined) return
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`
    if (one instanceof FileBytes && one.as === 'bytes') {
      const { fileName, contentType } = one.part
      text += `; filename="${escapeName(fileName ?? `${name}.bin`)}"\r\nContent-Type: ${contentType ?? 'application/octet-stream'}\r\n\r\n`
      segments.push(Buffer.from(text), one)
      text = '\r\n'
    } else if (one instanceof FileBytes) {
      segments.push(Buffer.from(`${text}\r\n\r\n`), one)
      text = '\r\n'
    } else if (one instanceof Mixed) {
      text += '\r\n\r\n'
      for (const part of one.parts) {
        if (!(part instanceof FileBytes)) text += String(part)
        else {
          segments.push(Buffer.from(text), part)
          text = ''
        }
      }
      text += '\r\n'
    } else text += `\r\n\r\n${typeof one === 'string' ? one : JSON.stringify(one)}\r\n`
  }
  for (const [name, own] of Object.entries((value ?? {}) as { readonly [name: string]: unknown }))
    for (const one of [own].flat()) add(name, one)
  segments.push(Buffer.from(`${text}--${boundary}--\r\n`))
  return compose(`multipart/form-data; boundary=${boundary}`, segments)
}

function compose(contentType: string, segments: readonly Segment[]): Composed {
  const bytes = segments.reduce((sum, segment) => sum + lengthOf(segment), 0)
  const isInMemory = segments.every(segment => Buffer.isBuffer(segment))
  return {
    kind: 'composed',
    contentType,
    bytes,
    ...(isInMemory && { whole: Buffer.concat(segments) }),
    open: () => Readable.from(read(segments), { objectMode: false }),
  }
}

function lengthOf(segment: Segment): number {
  if (Buffer.isBuffer(segment)) return segment.length
  return segment.as === 'bytes' ? segment.part.bytes : Math.ceil(segment.part.bytes / 3) * 4
}

async function* read(segments: readonly Segment[]): AsyncGenerator<Buffer> {
  for (const segment of segments) {
    if (Buffer.isBuffer(segment)) yield segment
    else if (segment.as === 'bytes') yield* segment.part.open() as AsyncIterable<Buffer>
    else yield* toBase64(segment.part.open() as AsyncIterable<Buffer>)
  }
}

/** As browsers do (WHATWG HTML, multipart/form-data encoding). */
function escapeName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
