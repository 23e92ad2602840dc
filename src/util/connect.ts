import type { Socket } from 'node:net'

/** The target of a connection. */
export type Dialled = {
  readonly host: string
  readonly port: number
  readonly isEncrypted: boolean
  /**
   * True for an address from a response that is not the upstream's own: the connection resolves its name once, and
   * connects only to addresses that `isPublicAddress` accepts.
   */
  readonly isForeign?: true
}

/**
 * Opens a connection to an upstream, ready for its first byte, within `timeoutMs` milliseconds.
 * @throws Error with a `code`: `ETIMEDOUT` after that time, else Node's own
 */
export type Connect = (to: Dialled, timeoutMs: number) => Promise<Socket>
