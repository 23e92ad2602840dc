import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { LiveMemory, LiveSession } from './live.ts'
import { SimulatedSession } from './session.ts'

/** `/text/v1/realtime?model=…` */
const path = /^\/text\/v1\/realtime$/
const livePath =
  /^\/text\/ws\/google\.ai\.generativelanguage\.v1(?:alpha|beta)?\.GenerativeService\.BidiGenerateContent$/

/**
 * Serves WebSockets of the simulated text upstream.
 * @returns a function that closes all open WebSockets
 */
export function serveRealtime(server: Server): () => void {
  const sockets = new WebSocketServer({ noServer: true })
  const memory = new LiveMemory()
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://simulator')
    if (livePath.test(pathname)) return sockets.handleUpgrade(request, socket, head, opened => openLive(opened, memory))
    const model = searchParams.get('model')
    const transcribes = searchParams.get('intent') === 'transcription'
    if (!path.test(pathname) || (model === null) !== transcribes) return refuse(socket)
    sockets.handleUpgrade(request, socket, head, opened => open(opened, model ?? undefined))
  })
  return () => {
    for (const one of sockets.clients) one.terminate()
  }
}

function open(socket: WebSocket, model: string | undefined): void {
  const session = new SimulatedSession(model, {
    send: event => socket.send(JSON.stringify(event)),
    cut: () => socket.terminate(),
  })
  socket.on('message', data => session.receive((data as Buffer).toString()))
  socket.on('close', () => session.close())
  socket.on('error', () => undefined)
}

function openLive(socket: WebSocket, memory: LiveMemory): void {
  const wire = {
    // The vendor sends JSON in binary frames.
    send: (message: object) => socket.send(Buffer.from(JSON.stringify(message))),
    close: (code: number, reason: string) => socket.close(code, reason),
    cut: () => socket.terminate(),
  }
  const session = new LiveSession(wire, memory)
  socket.on('message', data => session.receive((data as Buffer).toString()))
  socket.on('close', () => session.close())
  socket.on('error', () => undefined)
}

function refuse(socket: Duplex): void {
  const body = JSON.stringify({ error: { message: 'there is no WebSocket here', type: 'invalid_request_error' } })
  socket.on('error', () => undefined)
  socket.end(
    `HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  )
}
