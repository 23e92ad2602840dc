/** The maximum rows of a compacted batch. */
export const compactedRows = 4_096
/** The maximum number of uncompacted batches: a query reads them one by one. */
const batchesMax = 256

/** Counts the uncompacted batches that a writer knows, and decides when to compact them. */
export class UncompactedBatches {
  readonly compactedRows: number
  #batches = 0
  #rows: number

  /** Starts with a full count, so that the first batch also counts those that earlier writers left. */
  constructor(rows = compactedRows) {
    this.compactedRows = rows
    this.#rows = rows
  }

  /** Records one more batch. @returns whether it is time to count all of them */
  isDue(rows: number): boolean {
    return this.areEnough(this.#batches + 1, this.#rows + rows)
  }

  /** Records the counted batches and rows. @returns whether to compact them */
  areEnough(batches: number, rows: number): boolean {
    this.#batches = batches
    this.#rows = rows
    return batches >= batchesMax || rows >= this.compactedRows
  }

  bound(): void {
    this.#batches = 0
    this.#rows = 0
  }
}
