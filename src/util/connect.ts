import type { Socket } from 'node:net'

/** The target of a connection. */
export type Dialled = {
  readonly host: string
  readonly port: number
  readonly isEncrypted: boolean
  /**
   * For an address from a response that is not the upstream's own: the connection resolves its name once, and connects
   * only to addresses that `isPublicAddress` accepts.
   * `isPublicAddress` says no.
   */
  readonly isForeign?: true
}

/**
 * Opens a connection to an upstream, ready for its first byte, within so many milliseconds.
 * @throws Error with a `code`: Node's own; `ETIMEDOUT` when that took too long
 */
export type Connect = (to: Dialled, timeoutMs: number) => Promise<Socket>
