import { ask, type QueryProgram } from '../query.ts'
import { text } from '../rows.ts'
import { readChargeBatch } from './find.ts'
import { ChargeBatchPage } from './batch-page.ts'
import type { Booked } from './parse.ts'
import { afterAll, reachOf } from './time-bounds.ts'

const next = (which: string): string => `SELECT chain, position, last_id, body FROM segment
  WHERE last_id > ? AND last_id < ? AND first_id < ? ${which} ORDER BY last_id LIMIT ?`
const nextOfAll = next('')
/** Charge batches whose charges are not in the rollup (`usage_sum`). */
const nextNotSummed = next(
  'AND position > coalesce((SELECT u.position FROM usage_chain u WHERE u.chain = segment.chain), 0)',
)
const earliest = 'SELECT min(first_id) AS first_id FROM segment WHERE last_id > ? AND last_id < ?'

/** Reads the charges in batches in the order of their ids, although batches overlap. */
export class ChargeBatchWalk {
  readonly #after: string
  readonly #until: string
  readonly #next: string
  readonly #page = new ChargeBatchPage()
  #through: string
  #read: Booked[] = []
  #isOver = false

  /** Reads ids between `after` and `until` (both excluded), in sort order; optionally without those in the rollup. */
  constructor(after: string, until = afterAll, which: 'all' | 'not summed' = 'all') {
    this.#next = which === 'all' ? nextOfAll : nextNotSummed
    this.#after = after
    this.#until = until
    this.#through = after
  }

  /** The next charges, in order; empty at the end. */
  *next(): QueryProgram<readonly Booked[]> {
    while (!this.#isOver) {
      const ready = this.#takeBefore(yield* this.#readOn())
      if (ready.length > 0) return ready
    }
    return []
  }

  /** @returns the id that every unread charge sorts at or after */
  *#readOn(): QueryProgram<string> {
    const { size } = this.#page
    const batches = yield ask(this.#next, this.#through, reachOf(this.#until), this.#until, size)
    let charges = 0
    for (const batch of batches)
      for (const booked of readChargeBatch(batch)) {
        charges++
        if (booked.id > this.#after && booked.id < this.#until) this.#read.push(booked)
      }
    this.#page.had(charges)
    const last = batches.at(-1)
    this.#isOver = batches.length < size
    if (!last || this.#isOver) return afterAll
    this.#through = text(last, 'last_id')
    const [behind] = yield ask(earliest, this.#through, reachOf(this.#through))
    const first = behind?.['first_id']
    return typeof first === 'string' && first < this.#through ? first : this.#through
  }

  #takeBefore(bound: string): readonly Booked[] {
    const ready = this.#read.filter(({ id }) => id < bound)
    this.#read = this.#read.filter(({ id }) => id >= bound)
    return ready.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
  }
}
