import type { Socket } from 'node:net'

/** Where a connection is to lead. */
export type Dialled = { readonly host: string; readonly port: number; readonly isEncrypted: boolean }

/**
 * Opens a connection to an upstream, ready for its first byte, within so many milliseconds.
 * @throws Error with a `code`: Node's own; `ETIMEDOUT` when that took too long
 */
export type Connect = (to: Dialled, timeoutMs: number) => Promise<Socket>
