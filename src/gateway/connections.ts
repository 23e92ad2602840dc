import type { Socket } from 'node:net'
import type { ServerConfig } from '../domain/index.ts'
import { isTrusted } from '../util/index.ts'

type Bounds = Pick<ServerConfig, 'connectionsMax' | 'connectionsPerAddress' | 'trustedProxies'>

/** Counts client connections, and closes those over the limits before a byte is read. */
export class Connections {
  open = 0
  refused = 0
  readonly #bounds: () => Bounds
  readonly #byAddress = new Map<string, number>()

  constructor(bounds: () => Bounds) {
    this.#bounds = bounds
  }

  /** False for a connection over the limit, which is then closed. */
  enter(socket: Socket): boolean {
    const { connectionsMax, connectionsPerAddress, trustedProxies = [] } = this.#bounds()
    const address = socket.remoteAddress ?? ''
    const same = this.#byAddress.get(address) ?? 0
    const isFull = connectionsMax !== undefined && this.open >= connectionsMax
    const isGreedy =
      connectionsPerAddress !== undefined && same >= connectionsPerAddress && !isTrusted(address, trustedProxies)
    if (isFull || isGreedy) {
      this.refused++
      socket.destroy()
      return false
    }
    this.open++
    this.#byAddress.set(address, same + 1)
    socket.once('close', () => this.#leave(address))
    return true
  }

  #leave(address: string): void {
    this.open--
    const left = (this.#byAddress.get(address) ?? 1) - 1
    if (left > 0) this.#byAddress.set(address, left)
    else this.#byAddress.delete(address)
  }
}
