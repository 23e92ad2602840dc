import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { discardRest } from '../engine/discard-rest.ts'
import type { Clock } from '../util/index.ts'

/** Connections that were closed on our side, while the body of a request is still on its way. */
const lingering = new WeakSet<Socket>()

/** Whether what comes on a connection comes too late: it was closed with an answer. */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket)
}

/**
 * Lets the connection of an answer close as HTTP has it (RFC 9112 9.6), where it closes with the answer: first on our side,
 * and altogether when the rest of the request's body has been read. Node closes at once; where bytes are unread then, the
 * system resets the connection, and a proxy that is still sending never reads the answer: its caller gets a 502.
 */
export function lingerOnClose(req: IncomingMessage, socket: Socket, clock: Pick<Clock, 'after'>): void {
  // The method of the prototype comes to light again.
  const restore = (): void => void Reflect.deleteProperty(socket, 'destroySoon')
  req.once('end', restore).once('close', restore)
  socket.destroySoon = () => {
    restore()
    if (req.complete || req.destroyed || socket.destroyed) return socket.destroySoon()
    lingering.add(socket)
    socket.end()
    req.once('end', () => socket.destroySoon())
    discardRest(req, clock)
  }
}
