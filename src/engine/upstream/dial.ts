import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock, Connect } from '../../util/index.ts'
import type { Connection } from './connection.ts'

/** Where connections lead. */
export type Address = {
  readonly host: string
  readonly port: number
  readonly isEncrypted: boolean
  /** The name of the certificate and of SNI; undefined for an IP address. */
  readonly serverName: string | undefined
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
  ) {
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

  #greet(): Socket {
    const { host, port, serverName } = this.#address
    const socket = connectTls({
      host,
      port,
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

function timedOut(): Error {
  return Object.assign(new Error('the connection timed out'), { code: 'ETIMEDOUT' })
}

/** If all addresses failed and one was too slow, the error is a timeout, whichever timer was first. */
function nameTimeout(error: Error): Error {
  const isTimeout =
    error instanceof AggregateError && error.errors.some(one => (one as { code?: string }).code === 'ETIMEDOUT')
  return isTimeout ? Object.assign(timedOut(), { cause: error }) : error
}
