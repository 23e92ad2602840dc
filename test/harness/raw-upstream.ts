import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

/**
 * An upstream that sends raw bytes: the test gets each connection once a complete request has arrived. @returns its
 * address
 */
export async function startRaw(
  t: Test,
  onRequest: (socket: Socket, request: string, count: number) => unknown,
): Promise<string> {
  let count = 0
  const sockets = new Set<Socket>()
  const server: Server = createServer(socket => {
    sockets.add(socket)
    let text = ''
    socket.setNoDelay(true)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.on('data', bytes => {
      text += bytes.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (end < 0 || text.length < end + 4 + length) return
      const request = text
      text = ''
      onRequest(socket, request, count++)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
