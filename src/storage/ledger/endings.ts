import type { Review } from '../../domain/index.ts'
import type { Clock } from '../../util/index.ts'
import { StorageError } from '../errors.ts'
import type { Writing } from '../writing.ts'
import { type Ending, RetryQueue } from './retry-queue.ts'

/** Ends charges at once or, if the storage cannot be written, as soon as possible. */
export class Endings {
  readonly #writer: Writing
  readonly #clock: Pick<Clock, 'now'>
  readonly #queue = new RetryQueue()

  constructor(writer: Writing, clock: Pick<Clock, 'now'>) {
    this.#writer = writer
    this.#clock = clock
  }

  /** @throws StorageError if the charge is not known to have ended; the end will be tried again */
  async end(id: string, ending: Ending): Promise<boolean> {
    try {
      const now = this.#clock.now()
      const ended =
        ending.change === 'settle'
          ? await this.#writer.submit('settle', { ...ending.given, now })
          : await this.#writer.submit('endEmpty', ending.given)
      // An item whose commit was in doubt exists after all: the charge is not empty, and must not stay open.
      if (ended || ending.change === 'settle' || !this.#queue.isInDoubt(id)) return ended
      const { given } = ending
      const upstream = given.state === 'needs_review' ? given.upstream : undefined
      const settlement = { id, delivery: 'unconfirmed', reason: 'line_in_doubt', upstream } as const
      return await this.#writer.submit('settle', { settlement, at: given.at, now })
    } catch (error) {
      if (isUnavailable(error) && !this.#writer.healthy()) this.#queue.owe(id, ending)
      // Other transactions may have blocked every attempt. The hold must not stay because of that.
      else this.#queue.lookAgain(id, ending)
      throw error
    }
  }

  review(id: string, reason: string, about: Review = {}): Promise<boolean> {
    const given = { id, state: 'needs_review', reason, at: this.#clock.now(), ...about } as const
    return this.end(id, { change: 'endEmpty', given })
  }

  /** Releases a hold that may have been committed, as soon as the storage can be written. */
  holdFailed(id: string, at: number, error: unknown): void {
    const given = { id, state: 'voided', reason: 'hold_in_doubt', at } as const
    if (isUnavailable(error)) this.#queue.owe(id, { change: 'endEmpty', given })
  }

  /** Records that an item may have been committed, so that its charge may not be empty. */
  lineFailed(id: string, error: unknown): void {
    if (isUnavailable(error)) this.#queue.doubt(id)
  }

  /** Called when the storage can be written again: ends the charges of the queue. */
  payOwed(): void {
    for (const { id, ending } of this.#queue.take())
      this.end(id, ending).then(
        ended => (ended ? undefined : this.#queue.lookAgain(id, ending)),
        () => undefined,
      )
  }

  /** Tries once more to write the ends that failed by themselves or found no open charge. */
  payLate(): void {
    for (const { id, ending } of this.#queue.takeLate()) void this.end(id, ending).catch(() => undefined)
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof StorageError && error.code === 'storage_unavailable'
}
