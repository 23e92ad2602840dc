import { type IncomingMessage, request } from 'node:http'
import { duplexPair, type Duplex } from 'node:stream'
import type { Head } from '../../plugin-api/index.ts'
import { RecordReader } from '../../wire/index.ts'

/** Headers of the WebSocket handshake and of message framing, which are not copied. */
const ofOpening =
  /^(?:host|connection|upgrade|sec-.+|content-.+|transfer-encoding|accept.*|origin|expect|te|keep-alive)$/

/** An HTTP request from a WebSocket message. */
export type Inner = {
  /** Resolves with the head of the response; rejects if there is none. */
  readonly answer: Promise<IncomingMessage>
  /** Aborts the request, after the client has disconnected. */
  abort(): void
}

/**
 * Sends a request to this gateway on an in-memory connection, so that a WebSocket message is processed as every other
 * request is.
 * @param accept serves the connection
 */
export function sendInner(
  accept: (connection: Duplex) => void,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body: Buffer },
  headers: { readonly [name: string]: string },
  remote: string,
): Inner {
  const sent = request({
    method,
    path,
    headers: { ...headers, 'content-type': 'application/json', 'content-length': body.length },
    createConnection: () => {
      const [near, far] = duplexPair()
      // Destroying one side of a pair does not close the other.
      near.once('close', () => far.destroy())
      far.once('close', () => near.destroy())
      accept(Object.assign(far, { remoteAddress: remote }))
      return near
    },
  })
  const answer = new Promise<IncomingMessage>(
    (resolve, reject) => void sent.on('response', resolve).on('error', reject),
  )
  sent.end(body)
  return { answer, abort: () => void sent.destroy() }
}

/** The headers for each message's request: those of the handshake request, such as the key and the user agent. */
export function headersOfMessages(head: Head, keys: readonly string[], session: string): { [name: string]: string } {
  const kept: { [name: string]: string } = { host: String(head.headers['host'] ?? 'gateway') }
  for (const [name, value] of Object.entries(head.headers))
    if (typeof value === 'string' && !ofOpening.test(name)) kept[name] = value
  const [key] = keys
  if (key !== undefined && kept['authorization'] === undefined && kept['x-api-key'] === undefined)
    kept['authorization'] = `Bearer ${key}`
  kept['x-request-id'] = session
  return kept
}

/** Yields the data of each server-sent event as it arrives. */
export async function* readEvents(answer: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let pieces: Buffer[] = []
  const records: string[] = []
  const reader = new RecordReader({
    data: piece => void pieces.push(Buffer.from(piece)),
    field: () => undefined,
    recordEnd() {
      if (pieces.length > 0) records.push(Buffer.concat(pieces).toString())
      pieces = []
    },
  })
  let at = 0
  for await (const chunk of answer) {
    reader.read(chunk, at)
    at += chunk.length
    yield* records.splice(0)
  }
  reader.end(at)
  yield* records.splice(0)
}
