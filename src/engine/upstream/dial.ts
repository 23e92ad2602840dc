import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { type Clock, type Connect, openTunnel, type ProxyAddress } from '../../util/index.ts'
import type { Connection } from './connection.ts'

/** Where connections lead. */
export type Address = {
  readonly host: string
  readonly port: number
  readonly isEncrypted: boolean
  /** The name of the certificate and of SNI; undefined for an IP address. */
  readonly serverName: string | undefined
}

/** How connections get to an address. */
export type Way = {
  readonly proxy?: ProxyAddress | undefined
  /** Who may have signed its certificate; absent for those that the system trusts. */
  readonly ca?: string | undefined
}

/** How often a silent connection is probed, to notice a peer that has vanished. */
const probeAfterMs = 60_000

/** The endpoint of a url, with its own name if `host` is given. */
export function addressOf(url: URL, host?: string): Address {
  const isEncrypted = url.protocol === 'https:'
  const dialled = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const named = host === undefined ? dialled : host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
  return {
    host: dialled,
    port: Number(url.port || (isEncrypted ? 443 : 80)),
    isEncrypted,
    serverName: isIP(named) === 0 ? named : undefined,
  }
}

/** Opens connections to one endpoint. */
export class Dialler {
  readonly #address: Address
  readonly #timeoutMs: number
  readonly #clock: Clock
  readonly #connect: Connect | undefined
  readonly #lookup: LookupFunction | undefined
  readonly #way: Way
  /** The TLS session of the last connection, for the next one. */
  #session: Buffer | undefined

  /**
   * @param connect replaces this machine's network
   * @param lookup resolves the name and checks the result; the system's by default
   */
  constructor(
    address: Address,
    timeoutMs: number,
    clock: Clock,
    connect: Connect | undefined,
    lookup?: LookupFunction,
    way: Way = {},
  ) {
    this.#way = way
    this.#lookup = lookup
    this.#address = address
    this.#timeoutMs = timeoutMs
    this.#clock = clock
    this.#connect = connect
  }

  /** Opens a connection. @throws Error with a `code`: Node's own, or `ETIMEDOUT` if it took too long */
  async dial(connection: Connection): Promise<void> {
    const { host, port, isEncrypted } = this.#address
    if (this.#connect) {
      const foreign = this.#lookup ? { isForeign: true as const } : {}
      const socket = await this.#connect({ host, port, isEncrypted, ...foreign }, this.#timeoutMs)
      return connection.open(socket, false)
    }
    if (this.#way.proxy) return this.#pass(this.#way.proxy, connection)
    const socket = isEncrypted ? this.#greet() : this.#reach(connection)
    let isOver = false
    const giveUp = (): void => void (isOver || socket.destroy(timedOut()))
    // A process that was stopped for longer finds its timer due before it has noticed the finished connection.
    const limit = this.#clock.after(this.#timeoutMs, () => void setImmediate(giveUp))
    return new Promise((resolve, reject) => {
      const onError = (error: Error): void => {
        isOver = true
        limit.cancel()
        reject(nameTimeout(error))
      }
      socket.once('error', onError).once(isEncrypted ? 'secureConnect' : 'connect', () => {
        isOver = true
        limit.cancel()
        connection.open(socket, !isEncrypted)
        socket.off('error', onError)
        resolve()
      })
    })
  }

  /** Opens it through a proxy, with TLS to the server itself. One limit for everything. */
  async #pass(proxy: ProxyAddress, connection: Connection): Promise<void> {
    const { host, port, isEncrypted } = this.#address
    const late = new AbortController()
    const { promise: over, reject } = Promise.withResolvers<never>()
    const limit = this.#clock.after(this.#timeoutMs, () => {
      late.abort()
      reject(timedOut())
    })
    over.catch(() => undefined)
    let socket: Socket | undefined
    try {
      // A name out of an answer is judged here: the proxy would resolve it again.
      const dialled = this.#lookup ? await Promise.race([resolve(this.#lookup, host), over]) : host
      // Not raced: when it is late its own error names the proxy.
      socket = await openTunnel(proxy, { host: dialled, port }, late.signal)
      socket.setNoDelay(true).setKeepAlive(true, probeAfterMs)
      if (isEncrypted) {
        const greeted = this.#greet(socket)
        socket = greeted
        await Promise.race([whenGreeted(greeted), over])
      }
      connection.open(socket, false)
    } catch (error) {
      socket?.on('error', () => undefined).destroy()
      throw error
    } finally {
      limit.cancel()
    }
  }

  #reach(connection: Connection): Socket {
    const { host, port } = this.#address
    return connectTcp({
      host,
      port,
      ...(this.#lookup && { lookup: this.#lookup }),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: probeAfterMs,
      onread: {
        buffer: () => connection.nextMemory(),
        callback: (bytes, memory) => {
          connection.onRead(bytes, memory as Buffer)
          return true
        },
      },
    })
  }

  /** @param tunnel an open connection to it, through a proxy */
  #greet(tunnel?: Socket): TLSSocket {
    const { host, port, serverName } = this.#address
    const socket = connectTls({
      // Through a tunnel, too: without a host an address would be verified as the name of the proxy.
      host,
      port,
      ...(tunnel && { socket: tunnel }),
      ...(this.#way.ca !== undefined && { ca: this.#way.ca }),
      ALPNProtocols: ['http/1.1'],
      ...(this.#lookup && { lookup: this.#lookup }),
      ...(serverName !== undefined && { servername: serverName }),
      ...(this.#session && { session: this.#session }),
    })
    return socket
      .setNoDelay(true)
      .setKeepAlive(true, probeAfterMs)
      .on('session', (session: Buffer) => {
        this.#session = session
      })
  }
}

function whenGreeted(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject).once('secureConnect', () => {
      socket.off('error', reject)
      resolve()
    })
  })
}

/** The address that a name is dialled by, once it was judged. */
function resolve(lookup: LookupFunction, host: string): Promise<string> {
  const { promise, resolve: done, reject } = Promise.withResolvers<string>()
  lookup(host, {}, (error, address) => {
    if (error) reject(error)
    else done(typeof address === 'string' ? address : (address[0]?.address ?? host))
  })
  return promise
}

function timedOut(): Error {
  return Object.assign(new Error('the connection timed out'), { code: 'ETIMEDOUT' })
}

/** If all addresses failed and one was too slow, the error is a timeout, whichever timer was first. */
function nameTimeout(error: Error): Error {
  const isTimeout =
    error instanceof AggregateError && error.errors.some(one => (one as { code?: string }).code === 'ETIMEDOUT')
  return isTimeout ? Object.assign(timedOut(), { cause: error }) : error
}
