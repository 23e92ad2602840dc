import type { Ids } from '../util/ids.ts'
import type { UncompactedBatches } from './log-batches/uncompacted.ts'

/** The writer: charges belong to an owner and an epoch, entries to a chain. */
export type WriterIdentity = {
  /** One per open storage. */
  readonly owner: string
  /** Its host, for people. */
  readonly host: string
  /** Increases with every process that begins to bill: charges are its own only while it keeps its lease. */
  readonly epoch: number
  /** The chain of hashes that this writer's entries continue. */
  readonly chain: string
  /** Where it books what has no limit: rows of its own in `account` if several write at once, else the common one. */
  readonly part: string
  /** The zone of budget days and months. */
  readonly zone: string
  /** Percents of a budget at which an event is written, smallest first. */
  readonly thresholds: readonly number[]
}

/** The writer, with what creates the ids of what is written, and what it knows of the log's loose pages. */
export type Scribe = WriterIdentity & { readonly ids: Ids; readonly uncompacted: UncompactedBatches }
