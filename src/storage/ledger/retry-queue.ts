import type { Given } from '../ops.ts'

const doubtsMax = 10_000

/** The end of a charge, as a change to submit. */
export type Ending = { [C in 'settle' | 'endEmpty']: { readonly change: C; readonly given: Given<C> } }[
  | 'settle'
  | 'endEmpty']

export type Owing = { readonly id: string; readonly ending: Ending }

/**
 * Ends of charges that could not be written at first. They are written when writing works again, so no hold stays
 * because the storage was unavailable for a while. All are conditional, so an end that succeeded before has no effect.
 * There are at most as many as charges in flight. If the process dies first, the next start recovers the charges.
 */
export class RetryQueue {
  #endings = new Map<string, Ending>()
  #late = new Map<string, Ending>()
  readonly #doubts = new Set<string>()

  owe(id: string, ending: Ending): void {
    put(this.#endings, id, ending)
  }

  take(): readonly Owing[] {
    const endings = [...this.#endings].map(([id, ending]) => ({ id, ending }))
    this.#endings = new Map()
    return endings
  }

  /**
   * Queues an end that failed by itself, or found no charge to end: a frozen database may still commit an earlier
   * request on an abandoned connection. The end is tried once more when that is no longer possible.
   */
  lookAgain(id: string, ending: Ending): void {
    put(this.#late, id, ending)
  }

  takeLate(): readonly Owing[] {
    const endings = [...this.#late].map(([id, ending]) => ({ id, ending }))
    this.#late = new Map()
    return endings
  }

  /** Records that an item of this charge may have been committed. */
  doubt(id: string): void {
    this.#doubts.add(id)
    // There are more charges than can be in flight, so the oldest have long ended.
    if (this.#doubts.size > doubtsMax) for (const oldest of this.#doubts) return void this.#doubts.delete(oldest)
  }

  isInDoubt(id: string): boolean {
    return this.#doubts.has(id)
  }
}

/** Queues an end, but does not replace a settlement: its charge has items, so it is not empty. */
function put(endings: Map<string, Ending>, id: string, ending: Ending): void {
  if (ending.change === 'endEmpty' && endings.get(id)?.change === 'settle') return
  endings.set(id, ending)
}
