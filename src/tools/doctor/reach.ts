import { createServer, connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Address } from '../../domain/index.ts'
import { systemClock } from '../../util/index.ts'

const reachMs = 3_000

/** Connects to where a URL leads, with TLS where it says so, and sends nothing. @throws Error why it cannot be reached */
export async function reach(url: string): Promise<void> {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const socket: Socket = isTls
    ? connectTls({ host, port: Number(port || 443), servername: host, ALPNProtocols: ['http/1.1'] })
    : connectTcp({ host, port: Number(port || 80) })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once(isTls ? 'secureConnect' : 'connect', () => resolve())
  socket.once('error', reject)
  const limit = systemClock.after(reachMs, () => reject(new Error(`no response within ${reachMs / 1000} s`)))
  try {
    await promise
  } finally {
    limit.cancel()
    socket.on('error', () => undefined).destroy()
  }
}

/** Why an address cannot be bound now; undefined when it can. */
export async function whyTaken({ host, port }: Address): Promise<string | undefined> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  return promise
}
