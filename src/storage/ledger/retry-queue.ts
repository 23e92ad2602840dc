import type { Given } from '../ops.ts'

const doubtsMax = 10_000

/** An end of a charge, as a change to submit. */
export type Ending = { [C in 'settle' | 'endEmpty']: { readonly change: C; readonly given: Given<C> } }[
  | 'settle'
  | 'endEmpty']

export type Owing = { readonly id: string; readonly ending: Ending }

/**
 * Ends of charges that could not be written when they came. They are written when writing works again: no hold stays
 * because the storage was away for a while. All of them are conditional, so one that did get through is a no-op.
 * As many as charges in flight at most; should the process die first, the next start recovers the charges.
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
   * An ending that failed by itself, or that found nothing to end: a database that was frozen may yet commit what it was
   * given before, on a connection that was given up. It is tried once more when that can no longer be.
   */
  lookAgain(id: string, ending: Ending): void {
    put(this.#late, id, ending)
  }

  takeLate(): readonly Owing[] {
    const endings = [...this.#late].map(([id, ending]) => ({ id, ending }))
    this.#late = new Map()
    return endings
  }

  /** A line of this charge may or may not have been committed. */
  doubt(id: string): void {
    this.#doubts.add(id)
    // More than can be in flight: the oldest have long ended.
    if (this.#doubts.size > doubtsMax) for (const oldest of this.#doubts) return void this.#doubts.delete(oldest)
  }

  isInDoubt(id: string): boolean {
    return this.#doubts.has(id)
  }
}

/** Who settles knows of lines; that it failed does not make the charge empty. */
function put(endings: Map<string, Ending>, id: string, ending: Ending): void {
  if (ending.change === 'endEmpty' && endings.get(id)?.change === 'settle') return
  endings.set(id, ending)
}
