import type { Socket } from 'node:net'

/** Where a connection is to lead. */
export type Dialled = {
  readonly host: string
  readonly port: number
  readonly isEncrypted: boolean
  /**
   * An address out of an answer, and not an upstream's own: the connection resolves its name once, and dials no address for which
   * `isPublicAddress` says no.
   */
  readonly isForeign?: true
}

/**
 * Opens a connection to an upstream, ready for its first byte, within so many milliseconds.
 * @throws Error with a `code`: Node's own; `ETIMEDOUT` when that took too long
 */
export type Connect = (to: Dialled, timeoutMs: number) => Promise<Socket>
