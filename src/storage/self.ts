/** Who writes: charges belong to an owner and an epoch, entries to a chain. */
export type Self = {
  /** One per open storage. */
  readonly owner: string
  /** Moves on with every gateway that opens the storage; what an earlier one left reserved is recovered then. */
  readonly epoch: number
  /** The chain of hashes that this writer's entries continue. */
  readonly chain: string
}
