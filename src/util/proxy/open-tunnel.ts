import type { ClientRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { ProxyAddress } from './proxy-address.ts'

/** A proxy could not be reached, or refused. Its message names the proxy, and no credentials. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  readonly code: string
  /** For clients: without the proxy's name. */
  readonly clientMessage: string

  constructor(proxy: ProxyAddress, why: string, code = 'EPROXY', cause?: unknown) {
    super(`proxy ${proxy.shown}: ${why}`, { cause })
    this.code = code
    this.clientMessage = `its proxy: ${why}`
  }
}

type Place = { readonly host: string; readonly port: number }

const remedies: { readonly [status: number]: string } = {
  407: 'it requires valid credentials',
  403: 'it does not allow this server',
  502: 'it could not reach the server',
  503: 'it could not reach the server',
  504: 'it could not reach the server in time',
}

/**
 * Opens a connection to a server through a proxy. The next byte on it is the server's first.
 * @throws ProxyError
 */
export function openTunnel(proxy: ProxyAddress, to: Place, signal: AbortSignal): Promise<Socket> {
  return proxy.kind === 'socks5' ? openSocks(proxy, to, signal) : openConnect(proxy, to, signal)
}

async function openConnect(proxy: ProxyAddress, { host, port }: Place, signal: AbortSignal): Promise<Socket> {
  // Loaded here: its import loads much else, before the process is prepared.
  const { request: send } = proxy.kind === 'https' ? await import('node:https') : await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const credential = credentialOf(proxy)
  const request: ClientRequest = send({
    host: proxy.host,
    port: proxy.port,
    method: 'CONNECT',
    path: authority,
    agent: false,
    signal,
    headers: { host: authority, ...(credential !== undefined && { 'proxy-authorization': credential }) },
  })
  request.once('connect', (response, socket: Socket, first: Buffer) => {
    const { statusCode: status = 0 } = response
    const isOpen = status >= 200 && status < 300
    if (isOpen && first.length === 0) return resolve(socket)
    socket.destroy()
    reject(isOpen ? tooEarly(proxy) : refusedWith(proxy, status))
  })
  request.once('response', response => {
    response.destroy()
    reject(refusedWith(proxy, response.statusCode ?? 0))
  })
  request.once('error', error => reject(unreachable(proxy, error)))
  request.end()
  return promise
}

/** Servers send nothing before their clients: earlier bytes would be taken for the response. */
function tooEarly(proxy: ProxyAddress): ProxyError {
  return new ProxyError(proxy, 'it sent something before the request')
}

function refusedWith(proxy: ProxyAddress, status: number): ProxyError {
  const why = remedies[status]
  return new ProxyError(proxy, `refused with status ${status}${why === undefined ? '' : `: ${why}`}`)
}

function unreachable(proxy: ProxyAddress, error: Error): ProxyError {
  const { code } = error as NodeJS.ErrnoException
  // The timeout of the whole connection has expired.
  if (code === 'ABORT_ERR') return new ProxyError(proxy, 'no response in time', 'ETIMEDOUT', error)
  return new ProxyError(proxy, `unreachable (${code ?? error.name})`, 'EPROXY', error)
}

function credentialOf({ user, password = '' }: ProxyAddress): string | undefined {
  return user === undefined ? undefined : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

async function openSocks(proxy: ProxyAddress, { host, port }: Place, signal: AbortSignal): Promise<Socket> {
  const { SocksClient } = await import('socks')
  const { user, password } = proxy
  // The protocol has one byte for the length; the library would throw an uncaught error.
  if (Buffer.byteLength(host) > 255) throw new ProxyError(proxy, 'it cannot be sent a name that is so long')
  const client = new SocksClient({
    command: 'connect',
    destination: { host, port },
    proxy: { host: proxy.host, port: proxy.port, type: 5, ...(user !== undefined && { userId: user, password }) },
  })
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  // Use our own socket: the library keeps its sockets until its own timeout.
  const socket = connect({ host: proxy.host, port: proxy.port })
  const late = (): void => reject(new ProxyError(proxy, 'no response in time', 'ETIMEDOUT'))
  const unreached = (error: Error): void => reject(unreachable(proxy, error))
  signal.addEventListener('abort', late)
  if (signal.aborted) late()
  client.once('established', () => {
    const early = (): void => reject(tooEarly(proxy))
    socket.once('data', early).once('error', unreached)
    // By then the library has passed on all data that arrived with the reply.
    setImmediate(() => {
      socket.off('data', early).off('error', unreached)
      resolve(socket)
    })
  })
  // The library's messages quote the proxy's reply, but none of our credentials.
  client.on('error', ({ message }) => reject(new ProxyError(proxy, reasonOf(message))))
  socket.once('error', unreached).once('connect', () => {
    socket.off('error', unreached)
    client.connect(socket)
  })
  try {
    return await promise
  } catch (error) {
    socket.on('error', () => undefined).destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', late)
  }
}

/** `Socks5 proxy rejected connection - NotAllowed`: rewritten, independent of the library's wording. */
function reasonOf(message: string): string {
  const code = /\b(E[A-Z]{4,})\b/.exec(message)?.[1]
  if (code !== undefined) return `unreachable (${code})`
  if (/auth/i.test(message)) return 'refused: it requires valid credentials'
  const reason = /rejected connection - (\w+)/.exec(message)?.[1]
  return reason === undefined ? `failed (${message.replaceAll(/[^\w .:-]/g, '').slice(0, 80)})` : `refused (${reason})`
}
