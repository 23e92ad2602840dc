/** The most rows of a bound page. */
export const compactedRows = 4_096
/** Loose pages are read one by one. */
const pagesMax = 256

/** How many loose pages a writer knows of, and when there are enough to bind. */
export class UncompactedBatches {
  readonly compactedRows: number
  #pages = 0
  #rows: number

  /** What earlier writers left is found out with the first page. */
  constructor(rows = compactedRows) {
    this.compactedRows = rows
    this.#rows = rows
  }

  /** One more was written. @returns whether it is time to count them */
  isDue(rows: number): boolean {
    return this.areEnough(this.#pages + 1, this.#rows + rows)
  }

  /** So many there are. */
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
