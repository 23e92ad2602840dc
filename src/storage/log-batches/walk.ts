import type { LogFilter, LogMatch, LogRow } from '../../domain/index.ts'
import type { QueryProgram } from '../query.ts'
import { standsAt } from '../charge-batches/time-bounds.ts'
import { sortMs } from './draft.ts'
import { type OnDamaged, findHeads, type LogBatchHead, readLogBatches, takeTogether } from './find.ts'
import { placesIn, rangeOf } from './match.ts'
import type { LogBatch } from './parse.ts'
import { wordOf } from './search-words.ts'

type BatchQuery = LogMatch & Pick<LogFilter, 'before' | 'after'>
/** A row, with the start time of its request. */
type Placed = { readonly row: LogRow; readonly ms: number }

/** Batches are read first if they have few rows: these are the newest ones. */
const rowsFirst = 512
const rowsMost = 8_192

/** Batches that may have rows of a query, in no particular order. */
export function* findLogBatches(query: BatchQuery): QueryProgram<readonly LogBatchHead[]> {
  const { from, before } = rangeOf(query)
  const beforeMs = before === undefined ? Number.MAX_SAFE_INTEGER : standsAt(before)
  return yield* findHeads(standsAt(from), beforeMs, wordOf(query))
}

/** Reads the rows of the log that match, in the order of their ids, although batches overlap. */
export class LogWalk {
  readonly #query: BatchQuery
  readonly #isOnward: boolean
  readonly #damaged: OnDamaged
  #batches: readonly LogBatchHead[] | undefined
  #read = 0
  #rowsTogether = rowsFirst
  #waiting: Placed[] = []
  #lastId: string | undefined

  /** `order`: oldest or newest first. */
  constructor(query: BatchQuery, order: 'oldest' | 'newest', damaged: OnDamaged = 'throw') {
    this.#query = query
    this.#damaged = damaged
    this.#isOnward = order === 'oldest'
  }

  /** The next rows, in order; empty at the end. */
  *next(): QueryProgram<readonly LogRow[]> {
    const batches = (this.#batches ??= this.#inOrder(yield* findLogBatches(this.#query)))
    while (this.#read < batches.length || this.#waiting.length > 0) {
      const together = takeTogether(batches, this.#read, this.#rowsTogether)
      this.#read += together.length
      this.#rowsTogether = Math.min(this.#rowsTogether * 2, rowsMost)
      for (const batch of yield* readLogBatches(together, this.#damaged)) this.#take(batch)
      const ready = this.#takeReady(batches[this.#read])
      if (ready.length > 0) return ready
    }
    return []
  }

  #inOrder(batches: readonly LogBatchHead[]): readonly LogBatchHead[] {
    return this.#isOnward
      ? batches.toSorted((a, b) => a.firstMs - b.firstMs)
      : batches.toSorted((a, b) => b.lastMs - a.lastMs)
  }

  #take(batch: LogBatch): void {
    for (const at of placesIn(batch, this.#query)) {
      const row = batch.rowOf(at)
      this.#waiting.push({ row, ms: sortMs(row) })
    }
  }

  /** Rows that no unread row can precede: all unread rows are at or after the beginning of the next batch. */
  #takeReady(next: LogBatchHead | undefined): readonly LogRow[] {
    const isReady = ({ ms }: Placed): boolean =>
      next === undefined || (this.#isOnward ? ms < next.firstMs : ms > next.lastMs)
    const ready = this.#waiting.filter(isReady)
    this.#waiting = ready.length === this.#waiting.length ? [] : this.#waiting.filter(one => !isReady(one))
    const sign = this.#isOnward ? 1 : -1
    ready.sort((a, b) => (a.row.id < b.row.id ? -sign : a.row.id > b.row.id ? sign : 0))
    const rows: LogRow[] = []
    // A repeated row counts once.
    for (const { row } of ready) {
      if (row.id !== this.#lastId) rows.push(row)
      this.#lastId = row.id
    }
    return rows
  }
}
