import type { StorageError, StorageErrorCode } from '../errors.ts'
import type { Recovery } from '../ledger/recovery.ts'
import type { Op } from '../ops.ts'
import type { Reading, Readings } from '../readings.ts'
import type { ConnectOptions } from './connect.ts'

/** An error in the form sent between threads. */
export type Fault = {
  readonly message: string
  readonly code?: StorageErrorCode
  /** The names in the message, if there is a code. */
  readonly params?: StorageError['params']
}

export type WriterStart = {
  readonly path: string
  readonly connect: ConnectOptions
  readonly owner: string
  readonly host: string
  readonly chain: string
  readonly part: string
  readonly zone: string
  readonly thresholds: readonly number[]
  /** The time at which to begin a new epoch and recover open charges; null for a process that does not bill. */
  readonly beginAt: number | null
  /** No other process bills on this file. */
  readonly isAlone: boolean
  /** The epoch to continue with, if the same owner had a writer here before. */
  readonly epoch: number | null
  /** Bytes that must be free on the disk for new charges to be opened. */
  readonly diskBytesMin: number
  readonly logPageRows?: number | undefined
}

export type ReaderStart = { readonly path: string }

/** A thread's side of its messages. */
export type Port<In, Out> = {
  on(event: 'message', take: (message: In) => void): void
  postMessage(message: Out, transfer: []): void
  close(): void
}

/** To the writer: one group, or the request to close. */
export type ToWriter = { readonly ops: readonly Op[] } | { readonly close: true }

export type FromWriter =
  | { readonly kind: 'ready'; readonly recovery: Recovery }
  /** Why the disk has less free space than charges in flight may need; undefined when there is enough again. */
  | { readonly kind: 'room'; readonly short: string | undefined }
  | { readonly kind: 'refused'; readonly fault: Fault }
  /**
   * A group is done. `values` and `faults` are by the operation's position in the group; an operation with a fault
   * changed nothing. `broken`: why the storage could not be written; operations beyond `values` are not known to be
   * committed.
   */
  | {
      readonly kind: 'group'
      readonly values: readonly unknown[]
      readonly faults: readonly (Fault | undefined)[]
      readonly broken: string | undefined
    }

export type ReadRequest = {
  [R in Reading]: { readonly id: number; readonly reading: R; readonly given: Readings[R]['given'] }
}[Reading]
export type ToReader = ReadRequest | { readonly close: true }
export type FromReader = { readonly id: number; readonly value?: unknown; readonly fault?: string }
