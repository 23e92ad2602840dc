import type { Failure } from '../domain/index.ts'
import type { Played } from './upstream.ts'

/** Divisible by three, so that the base64 of the pieces joins to the base64 of the whole. */
const pieceBytes = 48 * 1024

export function answerJson(status: number, value: unknown, headers: Played['headers'] = {}): Played {
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

/** A refusal in the chat-completions style. */
export function answerFailure({ status, message, type, param, code, headers }: Failure): Played {
  return answerJson(status, { error: { message, type, param, code } }, headers)
}

/** Bytes that a JSON string contains in base64. */
export type Inline = { readonly inline: Buffer }

/** JSON text in pieces: strings unchanged, pictures in base64, encoded only when the client can read them. */
export type JsonPieces = readonly (string | Inline)[]

/** Writes an object with one member whose value is base64: `{…before,"name":"<base64>",…after}`. */
export function jsonWithInline(before: object, name: string, bytes: Buffer, after: object): JsonPieces {
  const head = JSON.stringify(before).slice(1, -1)
  const tail = JSON.stringify(after).slice(1, -1)
  return [`{${head}${head && ','}${JSON.stringify(name)}:"`, { inline: bytes }, `"${tail && ','}${tail}}`]
}

/** A response of known length. It never holds a whole picture in memory as text. */
export function answerPieces(pieces: JsonPieces): Played {
  const length = pieces.reduce(
    (sum, piece) =>
      sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : Math.ceil(piece.inline.length / 3) * 4),
    0,
  )
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'content-length': String(length) },
    body: writePieces(pieces),
  }
}

/** Server-sent events, each named by its `type` (`docs/wire.md#images`). */
export function answerEvents(events: AsyncIterable<{ type: string; json: JsonPieces }>): Played {
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    body: writeEvents(events),
  }
}

async function* writeEvents(events: AsyncIterable<{ type: string; json: JsonPieces }>): AsyncIterable<string | Buffer> {
  for await (const { type, json } of events) {
    yield `event: ${type}\ndata: `
    yield* writePieces(json)
    yield '\n\n'
  }
}

async function* writePieces(pieces: JsonPieces): AsyncIterable<string | Buffer> {
  for (const piece of pieces) {
    if (typeof piece === 'string') yield piece
    else {
      for (let at = 0; at < piece.inline.length; at += pieceBytes) {
        yield piece.inline.toString('base64', at, Math.min(piece.inline.length, at + pieceBytes))
      }
    }
  }
}
