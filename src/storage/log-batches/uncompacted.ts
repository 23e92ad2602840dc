/** The maximum rows of a compacted page. */
export const compactedRows = 4_096
/** The maximum number of uncompacted pages: a query reads them one by one. */
const pagesMax = 256

/** Counts the uncompacted pages that a writer knows, and decides when to compact them. */
export class UncompactedBatches {
  readonly compactedRows: number
  #pages = 0
  #rows: number

  /** Starts with a full count, so that the first page also counts those that earlier writers left. */
  constructor(rows = compactedRows) {
    this.compactedRows = rows
    this.#rows = rows
  }

  /** Records one more page. @returns whether it is time to count all of them */
  isDue(rows: number): boolean {
    return this.areEnough(this.#pages + 1, this.#rows + rows)
  }

  /** Records the counted pages and rows. @returns whether to compact them */
  areEnough(pages: number, rows: number): boolean {
    this.#pages = pages
    this.#rows = rows
    return pages >= pagesMax || rows >= this.compactedRows
  }

  bound(): void {
    this.#pages = 0
    this.#rows = 0
  }
}
