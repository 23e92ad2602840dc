import type { IncomingMessage } from 'node:http'
import type { Clock } from '../util/index.ts'

/** How much of a refused body is still read, so that the client gets to read the answer. */
const discardBytesMax = 64 * 1024 * 1024
const discardMs = 10_000
const discarded = new WeakSet<IncomingMessage>()

/**
 * Reads and discards the rest of a refused body. Closing at once would lose the answer: clients that are still writing
 * get EPIPE and send the request again (`docs/wire.md#uploads-refused-early`).
 */
export function discardRest(req: IncomingMessage, clock: Pick<Clock, 'after'>): void {
  if (req.complete || req.destroyed || discarded.has(req)) return
  discarded.add(req)
  let bytes = 0
  const limit = clock.after(discardMs, () => req.socket.destroy())
  req.unpipe()
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > discardBytesMax) req.socket.destroy()
  })
  req.once('close', () => limit.cancel())
  req.once('end', () => limit.cancel())
  req.resume()
}
