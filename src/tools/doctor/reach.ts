import { createServer, connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Address } from '../../domain/index.ts'
import { openTunnel, type ProxyAddress, systemClock } from '../../util/index.ts'

const reachMs = 3_000

/**
 * Connects to the host of a URL, through a proxy if there is one, with TLS if the URL requires it, and sends nothing.
 * @throws Error that describes why it cannot be reached
 */
export async function reach(url: string, proxy?: ProxyAddress, ca?: string): Promise<void> {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const place = { host, port: Number(port || (isTls ? 443 : 80)) }
  const tunnel = proxy && (await openWithin(reachMs, proxy, place))
  const over = { ...place, ...(tunnel && { socket: tunnel }) }
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket: Socket = isTls
    ? connectTls({ ...over, ...name, ALPNProtocols: ['http/1.1'], ...(ca !== undefined && { ca }) })
    : (tunnel ?? connectTcp(place))
  if (tunnel && !isTls) return void tunnel.destroy()
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

async function openWithin(ms: number, ...[proxy, place]: [ProxyAddress, { host: string; port: number }]) {
  const late = new AbortController()
  const limit = systemClock.after(ms, () => late.abort())
  try {
    return await openTunnel(proxy, place, late.signal)
  } finally {
    limit.cancel()
  }
}

/** Why an address cannot be bound now; undefined if it can. */
export async function whyTaken({ host, port }: Address): Promise<string | undefined> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  return promise
}
