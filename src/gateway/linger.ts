import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { discardRest } from '../engine/discard-rest.ts'
import type { Clock } from '../util/index.ts'

/** Connections that the gateway has closed for writing while a request body is arriving. */
const lingering = new WeakSet<Socket>()

/** Whether data on a connection is too late, because a response has closed the connection. */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket)
}

/**
 * If a response closes its connection, closes it as HTTP requires (RFC 9112 9.6): first for writing, and completely
 * once the rest of the request body was read. Node closes at once. The system then resets a connection with unread
 * bytes, and a proxy that is still sending never reads the response: its client gets a 502.
 */
export function lingerOnClose(req: IncomingMessage, socket: Socket, clock: Pick<Clock, 'after'>): void {
  // Removes the override, so that the method of the prototype applies again.
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
