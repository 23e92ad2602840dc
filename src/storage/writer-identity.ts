import type { Ids } from '../util/ids.ts'
import type { UncompactedBatches } from './log-batches/uncompacted.ts'

/** Who writes: charges belong to an owner and an epoch, entries to a chain. */
export type WriterIdentity = {
  /** One per open storage. */
  readonly owner: string
  /** Where it runs, for people. */
  readonly host: string
  /** Moves on with every process that begins to bill: charges are its own only while it keeps its lease. */
  readonly epoch: number
  /** The chain of hashes that this writer's entries continue. */
  readonly chain: string
  /** Where it books what has no limit: rows of its own in `account` where several write at once, else the one that all use. */
  readonly part: string
  /** By whose days and months budgets go. */
  readonly zone: string
  /** Percents of a budget at which an event is written, smallest first. */
  readonly thresholds: readonly number[]
}

/** Who writes, with what makes the ids of what is written, and what it knows of the log's loose pages. */
export type Scribe = WriterIdentity & { readonly ids: Ids; readonly loose: UncompactedBatches }
