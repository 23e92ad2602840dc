import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Address } from './kit/index.ts'

export type Listener = (req: IncomingMessage, res: ServerResponse) => void

/** Makes the server for callers. The figures are those of `reference/reliability.md` 5.1; Node's own invite slow clients. */
export function createCallerServer(listener: Listener): Server {
  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 300_000,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      noDelay: true,
      requireHostHeader: true,
      insecureHTTPParser: false,
      joinDuplicateHeaders: false,
    },
    listener,
  )
  server.maxHeadersCount = 200
  // A client that waits for `100 Continue` is answered after its key has been checked, or refused before it uploads.
  server.on('checkContinue', listener)
  server.on('checkExpectation', (_req, res: ServerResponse) => {
    res.writeHead(417, { 'content-length': '0' }).end()
  })
  return server
}

/** Binds; resolves with the address really taken (port 0 gives any). @throws Error when the address is taken or not ours */
export async function bind(
  server: Server,
  address: Address,
): Promise<{ readonly host: string; readonly port: number; readonly url: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(address.port, address.host, resolve)
  await promise
  server.off('error', reject)
  const { address: host, port, family } = server.address() as AddressInfo
  return { host, port, url: `http://${family === 'IPv6' ? `[${host}]` : host}:${port}` }
}

/** Closes a server whose requests have all been answered: idle connections at once, the rest when they end. */
export async function unbind(server: Server): Promise<void> {
  if (!server.listening) return
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeIdleConnections()
  const sweep = setInterval(() => server.closeIdleConnections(), 100)
  sweep.unref()
  await promise
  clearInterval(sweep)
}
