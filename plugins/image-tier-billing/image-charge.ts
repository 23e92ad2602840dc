import type { ChargeRule, Ledger, Outcome, StoredAnswer } from '../../src/kit/index.ts'
import { fail } from './errors.ts'
import { rateImage } from './rate-image.ts'
import type { FoundImage } from './scan-images.ts'

/** What a charge is rated by. */
export type ChargeTerms = {
  readonly id: string
  readonly rule: ChargeRule
  readonly n: number
  readonly overReturn: 'bill' | 'cap'
  readonly onCallerGone: 'bill' | 'free'
}

/**
 * The charge of one exchange, from its hold to its end: lines are committed as images are found, and it is ended once,
 * by a complete answer or by whatever became of the exchange instead (reliability 4.3, 4.4).
 */
export class ImageCharge {
  readonly #ledger: Ledger
  readonly #terms: ChargeTerms
  #lines = 0
  #found = 0
  #broken = false
  #ended = false
  /** What is being written; the end of the exchange waits for it. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(ledger: Ledger, terms: ChargeTerms) {
    this.#ledger = ledger
    this.#terms = terms
  }

  /** Commits one line for each image, together. @throws Failure `charge_not_recorded` when one is not known to be durable. */
  async commit(images: readonly FoundImage[]): Promise<void> {
    this.#found += images.length
    await this.#write(async () => {
      const kept = await Promise.all(
        images.map(image => this.#ledger.line(this.#terms.id, rateImage(image, this.#terms))),
      )
      if (!kept.every(Boolean)) throw new Error('the charge was no longer open when its line was written')
      this.#lines += images.length
    })
  }

  /**
   * Ends the charge of an answer that came back whole: settled with its lines, or voided without.
   * @throws Failure `charge_not_recorded` when that is not known to be durable.
   */
  async finish(answer: StoredAnswer | undefined): Promise<void> {
    await this.#write(async () => {
      const { id } = this.#terms
      const done =
        this.#lines === 0
          ? await this.#ledger.void(id, 'zero_images')
          : await this.#ledger.settle({ id, delivery: 'unconfirmed', reason: null, ...(answer && { answer }) })
      if (!done) throw new Error('the charge was no longer open when it was settled')
      this.#ended = true
    })
  }

  /** The answer could not be followed to its end; what comes of it is for a person to see. Returns the cause. */
  broken(cause: unknown): unknown {
    this.#broken = true
    return cause
  }

  /** Whatever happened: ends the charge if the answer did not. @throws what the ledger throws; recovery ends it then. */
  async settle(outcome: Outcome): Promise<void> {
    await this.#writing.catch(() => undefined)
    const { id, onCallerGone } = this.#terms
    if (this.#ended) {
      if (outcome.kind === 'answered') this.#ledger.delivered(id)
      return
    }
    this.#ended = true
    if (this.#lines > 0) {
      const reason = outcome.kind === 'cut' ? `cut_by_${outcome.by}` : null
      await this.#ledger.settle({ id, delivery: 'partial', reason })
    } else if (this.#broken) {
      await this.#ledger.review(id, this.#found > 0 ? 'line_not_recorded' : 'answer_malformed')
    } else if (outcome.reach === 'untouched') await this.#ledger.void(id, 'not_sent')
    else if (outcome.reach === 'refused') await this.#ledger.void(id, 'upstream_refused')
    else if (outcome.reach === 'complete') await this.#ledger.void(id, 'zero_images')
    else if (onCallerGone === 'free' && outcome.kind === 'cut' && outcome.by === 'caller') {
      await this.#ledger.void(id, 'caller_gone')
    } else await this.#ledger.review(id, `outcome_${outcome.reach}`)
  }

  #write(work: () => Promise<void>): Promise<void> {
    if (this.#ended) return Promise.reject(this.#notRecorded(new Error('the exchange has been settled')))
    const written = work().catch((cause: unknown) => {
      this.#broken = true
      throw this.#notRecorded(cause)
    })
    this.#writing = Promise.allSettled([this.#writing, written])
    return written
  }

  #notRecorded(cause: unknown): Error {
    return fail('charge_not_recorded', { charge: this.#terms.id }, { cause })
  }
}
