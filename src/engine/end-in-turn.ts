import type { ServerResponse } from 'node:http'

type Ending = { readonly res: ServerResponse; readonly body: string | Buffer; readonly encoding: BufferEncoding }

let endings: Ending[] = []

/**
 * Ends a response at the end of this turn of the event loop, together with the other responses of the turn. A client
 * that sleeps is then woken once for several of them, and waking it costs more than the write itself. A response to a
 * request that is still arriving ends now: if the rest is malformed, the connection closes with what was written.
 */
export function endInTurn(res: ServerResponse, body: string | Buffer, encoding: BufferEncoding = 'utf8'): void {
  if (!res.req.complete) return void res.end(body, encoding)
  if (endings.push({ res, body, encoding }) === 1) setImmediate(endAll)
}

function endAll(): void {
  const ended = endings
  endings = []
  for (const { res, body, encoding } of ended) if (!res.destroyed) res.end(body, encoding)
}
