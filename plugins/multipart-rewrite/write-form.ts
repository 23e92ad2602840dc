import type { EncodedForm, FilePart, Part, Random } from '../../src/plugin-api/index.ts'
import { nameFile } from './name-file.ts'
import { type Piece, PieceStream } from './piece-stream.ts'
import { stripIndex } from './strip-index.ts'

/** A file whose bytes are readable at any position, so that sending it needs no intermediate stream. */
export type StoredFile = FilePart & Exclude<Piece, Buffer>

/**
 * So many random bytes cannot be guessed. A longer boundary could make a form of the maximum size exceed it: boundaries
 * of common clients have 30 characters and more.
 */
const boundaryBytes = 9

/**
 * Writes a new form (RFC 7578): own boundary, own part headers, exact length. Its bytes can be read more than once.
 * Files without a rule stay in their field, without brackets, with a generated file name.
 */
export function writeForm(parts: readonly Part[], random: Pick<Random, 'bytes'>): EncodedForm {
  const boundary = random.bytes(boundaryBytes).toString('base64url')
  const contents: (Buffer | FilePart)[] = []
  const counts = new Map<string, number>()
  let text = ''
  for (const part of parts) {
    text += `--${boundary}\r\nContent-Disposition: form-data; name="`
    if (part.kind === 'text') {
      text += `${escapeName(part.name)}"\r\n\r\n${part.value}\r\n`
      continue
    }
    const file = part.fileName === undefined ? nameByField(part, counts) : part
    text += `${escapeName(file.name)}"; filename="${escapeName(file.fileName ?? '')}"\r\n`
    text += `Content-Type: ${file.contentType ?? 'application/octet-stream'}\r\n\r\n`
    contents.push(Buffer.from(text), file)
    text = '\r\n'
  }
  contents.push(Buffer.from(`${text}--${boundary}--\r\n`))
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: contents.reduce((sum, content) => sum + (Buffer.isBuffer(content) ? content.length : content.bytes), 0),
    open: lend => {
      const pieces = contents.map(content => (Buffer.isBuffer(content) ? content : toPiece(content)))
      return new PieceStream(pieces, lend)
    },
  }
}

function nameByField(part: FilePart, counts: Map<string, number>): FilePart {
  const base = stripIndex(part.name)
  const index = counts.get(base) ?? 0
  counts.set(base, index + 1)
  return nameFile(part, base, base, index)
}

/** As browsers do (WHATWG HTML, multipart/form-data encoding). */
function escapeName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function toPiece(file: FilePart | StoredFile): Piece {
  if ('read' in file) return file
  let chunks: AsyncIterator<Buffer> | undefined
  return {
    bytes: file.bytes,
    read: async () => {
      chunks ??= file.open()[Symbol.asyncIterator]() as AsyncIterator<Buffer>
      const next = await chunks.next()
      if (next.done) throw new RangeError(`the file '${file.name}' was shorter than announced`)
      return next.value
    },
  }
}
