import type { LogRow } from '../../domain/index.ts'
import { draftLogBatch } from '../log-batches/draft.ts'
import type { LogBatchWrite } from '../log-batches/write.ts'

const rowsMax = 50_000
const idsMax = 50_000
/** One batch costs its group a millisecond or two, which bounds how long charges wait for the log. */
const batchRows = 256

/** Rows as one text: sending it to a thread costs a fraction of sending objects. */
export type Batch = { readonly logs: LogBatchWrite | null; readonly delivered: readonly string[] }

/**
 * Writes that no caller waits for: log rows and delivery notes, in order, bounded. If writing is too slow, the oldest
 * rows are dropped and counted; none of them is money.
 */
export class LogQueue {
  #rows: LogRow[] = []
  #delivered: string[] = []
  /** How many rows at the front may already have been written, at most; dropped rows count as such. */
  #inDoubt = 0
  #taken: { readonly rows: LogRow[]; readonly delivered: string[] } | undefined
  /** Rows appended, and rows done: written or dropped. */
  appended = 0
  through = 0
  dropped = 0
  readonly #together: number

  /** `batchMax`: the most rows of one batch. */
  constructor(batchMax = batchRows) {
    this.#together = batchMax
  }

  get size(): number {
    return this.#rows.length + this.#delivered.length
  }

  get full(): boolean {
    return this.#rows.length >= batchRows
  }

  append(row: LogRow): void {
    this.#rows.push(row)
    this.appended++
    // Removing the front of a list moves the rest; once per batch the cost is negligible.
    if (this.#rows.length >= rowsMax + batchRows) this.#drop(this.#rows.splice(0, batchRows).length)
  }

  delivered(id: string): void {
    if (this.#delivered.length >= idsMax) return
    this.#delivered.push(id)
    this.appended++
  }

  take(): Batch | undefined {
    if (this.size === 0) return undefined
    const rows = this.#rows.splice(0, this.#together)
    const delivered = this.#delivered.splice(0, this.#together)
    this.#taken = { rows, delivered }
    const again = this.#inDoubt > 0
    this.#inDoubt = Math.max(this.#inDoubt - rows.length, 0)
    return { logs: rows.length > 0 ? { page: draftLogBatch(rows), again } : null, delivered }
  }

  /** The last batch is durable, or never will be. */
  done({ lost }: { readonly lost: boolean }): void {
    const taken = this.#taken
    if (!taken) return
    this.#taken = undefined
    this.through += taken.rows.length + taken.delivered.length
    if (lost) this.dropped += taken.rows.length
  }

  /** The last batch was not written and may be tried again. */
  giveBack(): void {
    const taken = this.#taken
    if (!taken) return
    this.#taken = undefined
    this.#rows = [...taken.rows, ...this.#rows]
    this.#inDoubt += taken.rows.length
    this.#delivered = [...taken.delivered, ...this.#delivered]
    if (this.#rows.length > rowsMax) this.#drop(this.#rows.splice(0, this.#rows.length - rowsMax).length)
  }

  /** Another process may have written the waiting rows: it took this process for ended. */
  doubt(): void {
    this.#inDoubt = this.#rows.length
  }

  #drop(rows: number): void {
    this.dropped += rows
    this.through += rows
  }
}
