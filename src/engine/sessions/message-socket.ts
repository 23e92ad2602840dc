import type { IncomingMessage } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import type { CallerSocket } from './caller-socket.ts'
import type { Opening } from './handshake.ts'

export type { WebSocket } from 'ws'

/** Opens a client's WebSocket for reading and writing complete messages. The client must still be connected. */
export function openMessages(
  req: IncomingMessage,
  caller: CallerSocket,
  opening: Opening,
  options: { readonly messageBytesMax: number; readonly headers: { readonly [name: string]: string } },
): Promise<WebSocket> {
  const [protocol] = opening.protocols
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // The session answers pings, so that it can wait for a slow client.
    autoPong: false,
    maxPayload: options.messageBytesMax,
    // `opening.protocols` excludes subprotocols that contain keys.
    handleProtocols: () => protocol ?? false,
  })
  server.on('headers', lines => {
    for (const [name, value] of Object.entries(options.headers)) lines.push(`${name}: ${value}`)
  })
  return new Promise((resolve, reject) => {
    caller.socket.once('close', () => reject(new Error('the caller has left')))
    server.handleUpgrade(req, caller.socket, caller.release(), resolve)
  })
}
