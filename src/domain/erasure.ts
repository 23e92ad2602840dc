/** The change to rows of an erased person. `renamed`: only the name was replaced, by a pseudonym. */
export type ErasedHow = 'deleted' | 'cleared' | 'renamed'

/** Rows of a table to erase, or erased rows. */
export type ErasedRows = { readonly table: string; readonly how: ErasedHow; readonly rows: number }

/** The data found about a person before the erasure. */
export type Traces = {
  /** Every table that is searched, including those without rows of the person. */
  readonly tables: readonly ErasedRows[]
  /** Rows that keep the name, because hashes of the ledger's chains cover it. */
  readonly kept: {
    readonly charges: number
    readonly topups: number
    /** Entries about amounts of the person's budgets that were spent at another gateway. */
    readonly openings: number
  }
  /** Unfinished requests and jobs. An erasure begins only if there are none. */
  readonly running: number
}

/** The result of an erasure. */
export type Erasure = {
  /** The pseudonym. */
  readonly pseudonym: string
  /** Changes of this call: the rest, for a user whom an earlier call has erased. */
  readonly tables: readonly ErasedRows[]
  /** As before; null if an earlier call has reported it. */
  readonly kept: Traces['kept'] | null
}
