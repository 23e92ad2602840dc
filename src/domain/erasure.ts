/** The change to rows of a person who is erased. `renamed`: a pseudonym replaces the name, and nothing else is left. */
export type ErasedHow = 'deleted' | 'cleared' | 'renamed'

/** Rows of a table that are erased: counted before it is done, or done. */
export type ErasedRows = { readonly table: string; readonly how: ErasedHow; readonly rows: number }

/** What is found of a person before they are erased. */
export type Traces = {
  /** Every table that is looked in, also those that have nothing of them. */
  readonly tables: readonly ErasedRows[]
  /** What stays under their name, because hashes of the ledger's chains cover it. */
  readonly kept: {
    readonly charges: number
    readonly topups: number
    /** Entries of what a budget of theirs had spent at another gateway. */
    readonly openings: number
  }
  /** Requests and jobs that have not ended: as long as there is one, no erasure begins. */
  readonly running: number
}

/** What was done. */
export type Erasure = {
  /** What they are called from now on. */
  readonly pseudonym: string
  /** What was done now: for a user whom another call has erased before, the rest. */
  readonly tables: readonly ErasedRows[]
  /** As before; null where another call has reported it. */
  readonly kept: Traces['kept'] | null
}
