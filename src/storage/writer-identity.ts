import type { Ids } from '../util/ids.ts'
import type { LabelPlaces } from './label-places.ts'
import type { UncompactedBatches } from './log-batches/uncompacted.ts'

/** The writer: charges belong to an owner and an epoch, entries to a chain. */
export type WriterIdentity = {
  /** One for each open storage. */
  readonly owner: string
  /** Its host name, for messages. */
  readonly host: string
  /** Increases with every process that begins to bill: charges belong to the process only while it keeps its lease. */
  readonly epoch: number
  /** The chain of hashes that this writer's entries continue. */
  readonly chain: string
  /**
   * The part under which it books accounts without a limit: its own rows in `account` if several processes write at
   * once, else the common row.
   */
  readonly part: string
  /** The zone of budget days and months. */
  readonly zone: string
  /** Percents of a budget at which an event is written, smallest first. */
  readonly thresholds: readonly number[]
}

/**
 * The writer, with the source of the ids that it assigns, and its counts of the log's uncompacted pages and of the free
 * names of labels.
 */
export type Scribe = WriterIdentity & {
  readonly ids: Ids
  readonly uncompacted: UncompactedBatches
  readonly labelPlaces: LabelPlaces
}
