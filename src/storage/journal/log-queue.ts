import type { LogRow } from '../../domain/index.ts'
import { draftLogBatch } from '../log-batches/draft.ts'
import type { LogBatchWrite } from '../log-batches/write.ts'

const rowsMax = 50_000
const idsMax = 50_000
/**
 * The maximum number of rows in a batch, which costs its commit a millisecond or two. This bounds the time for which
 * charges wait for the log.
 */
const batchRows = 256

/** Rows as one text, because sending it to a thread costs a fraction of sending objects. */
export type Batch = { readonly logs: LogBatchWrite | null; readonly delivered: readonly string[] }

/**
 * Writes that no caller waits for, in order and bounded: log rows and delivery notes. If writing is too slow, the
 * oldest rows are dropped and counted; none of them is money.
 */
export class LogQueue {
  #rows: LogRow[] = []
  #delivered: string[] = []
  /** The maximum number of rows at the front that may already have been written, including dropped ones. */
  #inDoubt = 0
  #taken: { readonly rows: LogRow[]; readonly delivered: string[] } | undefined
  /** The number of rows appended, and of rows done: written or dropped. */
  appended = 0
  through = 0
  dropped = 0
  readonly #together: number

  /** `batchMax`: the maximum number of rows in a batch. */
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
    return { logs: rows.length > 0 ? { batch: draftLogBatch(rows), again } : null, delivered }
  }

  /** Reports that the last batch is durable, or never will be. */
  done({ lost }: { readonly lost: boolean }): void {
    const taken = this.#taken
    if (!taken) return
    this.#taken = undefined
    this.through += taken.rows.length + taken.delivered.length
    if (lost) this.dropped += taken.rows.length
  }

  /** Reports that the last batch was not written, so that it is tried again. */
  giveBack(): void {
    const taken = this.#taken
    if (!taken) return
    this.#taken = undefined
    this.#rows = [...taken.rows, ...this.#rows]
    this.#inDoubt += taken.rows.length
    this.#delivered = [...taken.delivered, ...this.#delivered]
    if (this.#rows.length > rowsMax) this.#drop(this.#rows.splice(0, this.#rows.length - rowsMax).length)
  }

  /** Records that another process may have written the waiting rows, because it assumed that this process had ended. */
  doubt(): void {
    this.#inDoubt = this.#rows.length
  }

  #drop(rows: number): void {
    this.dropped += rows
    this.through += rows
  }
}
