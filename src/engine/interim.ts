import type { Socket } from 'node:net'
import symbols from 'undici/lib/core/symbols.js'

const proceed = 100
const processing = 102

/** The part of undici's parser of HTTP/1.1 that is told of each head. */
type HeadParser = {
  readonly llhttp: { llhttp_set_lenient_keep_alive(ptr: unknown, on: 0 | 1): void }
  readonly ptr: unknown
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number
}

/**
 * Has undici read every interim answer (RFC 9110 15.2: a client must be able to parse any, asked for or not). undici knows
 * how, and closes the connection at one status, 100, alone: told of another interim status in its place it reads on. And one
 * that says `close` means the connection, not the answer that is still to come. Where heads begin and end stays the parser's
 * to say, so no byte is read twice, and an answer costs one more call.
 * @param socket one that undici has taken over
 */
export function acceptInterim(socket: Socket): void {
  const parser = (socket as Socket & { readonly [symbols.kParser]?: HeadParser })[symbols.kParser]
  if (!parser) return
  const { llhttp, ptr } = parser
  const onHeadersComplete = parser.onHeadersComplete.bind(parser)
  let goesOn = false
  parser.onHeadersComplete = (status, upgrade, keepAlive) => {
    const isInterim = status < 200
    if (isInterim !== goesOn) {
      goesOn = isInterim
      llhttp.llhttp_set_lenient_keep_alive(ptr, isInterim ? 1 : 0)
    }
    return onHeadersComplete(status === proceed ? processing : status, upgrade, keepAlive)
  }
}
