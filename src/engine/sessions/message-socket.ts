import type { IncomingMessage } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import type { CallerSocket } from './caller-socket.ts'
import type { Opening } from './handshake.ts'

export type { WebSocket } from 'ws'

/** Opens the WebSocket of a caller whose messages are read and written one by one. The caller has to be there still. */
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
    maxPayload: options.messageBytesMax,
    // The keys among those that were offered are not answered.
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
