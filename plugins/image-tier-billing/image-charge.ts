import {
  type Clock,
  type RequestContext,
  type Failure,
  type Ledger,
  type ChargeItem,
  type Micros,
  type Outcome,
  readCost,
  type StoredAnswer,
  type ResponseMetadata,
} from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import { hasNoImage } from './non-json-answer.ts'
import { readable, type FoundImage } from './scan-result.ts'
import type { Come } from './price-image.ts'
import { comeOf, rateImage, rateWithImage, type Rating } from './rate-image.ts'
import { isSilent, rateLines, type Unplaced } from './rate-lines.ts'
import { measure } from './measure.ts'

/**
 * The maximum time for which a returned image is held for its client while its charge cannot be written
 * (`docs/billing.md#charges-on-failure`).
 */
const patienceMs = 10_000
const retryMs = 100

/** Inputs for rating a charge. */
export type ChargeTerms = Rating & {
  readonly id: string
  readonly onCallerGone: 'bill' | 'free'
  /** The facts that the answer has reported so far; undefined if they are not read. */
  readonly metadata: () => ResponseMetadata | undefined
  /** The number of charge items of an earlier request that this one continues. */
  readonly linesBefore?: number
}

/**
 * The charge of one request, from its hold to its end. Charge items are committed as images are found. The charge ends
 * once: with the complete answer, or with the event that ended the request before (reliability 4.3, 4.4).
 */
export class ImageCharge {
  readonly #ledger: Ledger
  readonly #terms: ChargeTerms
  readonly #clock: Clock
  #lines = 0
  /** The index of the next charge item, if there are others than those of images. */
  #next = 0
  /** Whether the charge is an estimate that an administrator has to confirm. */
  #isDoubtful = false
  /** The items that wait for the end of the answer, once it has ended: a second write of them changes nothing. */
  #rest: readonly ChargeItem[] | undefined
  #found = 0
  #broken = false
  /** The shape of an answer that was not recognised. */
  #shape: string | undefined
  /** The shape of content besides the images that was not delivered. */
  #omitted: string | undefined
  #ended = false
  /** Whether it is known that no possible image arrived. */
  #isNothing = false
  /** Whether the client cannot receive the images, which then cost nothing. */
  #isUndelivered = false
  /** The upstream that answers; undefined before that. */
  #upstream: string | undefined
  /** The pending writes; the end of the request waits for them. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(ledger: Ledger, terms: ChargeTerms, clock: Clock) {
    this.#ledger = ledger
    this.#terms = terms
    this.#clock = clock
    this.#lines = terms.linesBefore ?? 0
  }

  /** Sets the upstream that answers, if the hold named another one. */
  comesFrom(upstream: string): void {
    this.#upstream = upstream
  }

  /**
   * Commits one charge item for each image, together. @throws Failure `charge_not_recorded` if one may not be durable
   */
  async commit(images: readonly FoundImage[]): Promise<void> {
    const lines = this.#rate(images)
    this.#found += images.length
    await this.#write(async () => {
      demandKept(await this.#keep(lines))
      this.#lines += images.length
    })
  }

  #rate(found: readonly FoundImage[]): readonly ChargeItem[] {
    const metadata = this.#terms.metadata()
    const images = found.map(image => measured(image, metadata))
    const ofImages = images.map(image => rateImage(image, this.#terms, metadata))
    const { rule } = this.#terms
    if (!rule.lines) return ofImages
    const all = images.flatMap((image, i): readonly Unplaced[] => {
      const line = ofImages[i]
      if (!line) return []
      const once = this.#found + i === 0 ? rateLines(rule, 'first', comeOf(image, metadata)) : []
      return [line, ...rateWithImage(image, line, this.#terms, metadata), ...once]
    })
    return this.#place(all)
  }

  #place(lines: readonly Unplaced[]): readonly ChargeItem[] {
    return lines.map(line => ({ ...line, index: this.#next++ }))
  }

  #keep(lines: readonly ChargeItem[]): Promise<readonly boolean[]> {
    return Promise.all(lines.map(line => this.#insist(() => this.#ledger.line(this.#terms.id, line, this.#upstream))))
  }

  /** Writes the items that depend on the complete answer. */
  async #writeRest(): Promise<void> {
    this.#rest ??= this.#rateRest()
    demandKept(await this.#keep(this.#rest))
  }

  #rateRest(): readonly ChargeItem[] {
    const { rule, metadata } = this.#terms
    const come = comeOf({ index: 0, size: null }, metadata())
    const lines = reportsOf(metadata()).flatMap(facts =>
      rateLines(rule, 'end', { ...come, facts, isSilent: isSilent(rule, facts) }),
    )
    this.#isDoubtful =
      lines.some(({ flags }) => flags.includes('estimated')) &&
      rule.lines?.some(one => one.missing === 'review') === true
    return this.#place(lines)
  }

  /** The charge item of a charged refusal; undefined if it is free. */
  get #refusal(): ChargeItem | undefined {
    const { rule, metadata } = this.#terms
    const name = rule.refusals && metadata()?.refusalPrice
    const row = rule.refusals?.find(one => one.name === name)
    return row && { ...refused, tier: row.name, price: row.price }
  }

  /** The vendor's reported cost. */
  get #cost(): { readonly vendorCost?: Micros } {
    const cost = this.#terms.metadata()?.cost
    const vendorCost = cost === undefined ? undefined : readCost(cost)
    return vendorCost === undefined ? {} : { vendorCost }
  }

  /**
   * Ends the charge of a complete answer: settles it with its charge items, or voids it if it is known to have none.
   * @throws Failure `charge_not_recorded` if that may not be durable
   */
  async finish(answer: StoredAnswer | undefined): Promise<void> {
    await this.#write(async () => {
      const { id } = this.#terms
      const hasImages = this.#lines > 0
      const omitted = this.#terms.metadata()?.omitted
      if (omitted !== undefined) this.leftOut(omitted)
      const refusal = hasImages ? undefined : this.#refusal
      if (hasImages && this.#terms.rule.lines) await this.#writeRest()
      if (refusal) demandKept(await this.#keep([refusal]))
      const cost = this.#cost
      const reason = refusal ? 'refused' : this.#omitted === undefined ? null : omittedReason(this.#omitted)
      const done = await this.#insist(() => {
        if (this.#isDoubtful) return this.#doubt()
        if (hasImages || refusal)
          return this.#ledger.settle({
            id,
            delivery: 'unconfirmed',
            reason,
            ...cost,
            ...this.#seller,
            ...(answer && { answer }),
          })
        // The omitted content may have been an image.
        if (this.#omitted !== undefined) return this.#review(unrecognisedReason(this.#omitted), 'kept')
        return this.#ledger.void(id, 'zero_images', cost.vendorCost)
      })
      if (!done && !(await this.#hasEnded())) throw new Error('the charge was already closed when it was to be settled')
      this.#ended = true
    })
  }

  /** The number of returned images whose charge items are committed. */
  get images(): number {
    return this.#lines
  }

  /** The shape of an answer that was not recognised, or not delivered whole. */
  get shape(): string | undefined {
    return this.#shape ?? this.#omitted
  }

  /** Records the shape of a possible uncounted image that was omitted from the answer. */
  leftOut(shape: string): void {
    this.#omitted ??= readable(shape)
  }

  /** Records that the engine or another plugin did not recognise the answer. An empty one contains no image. */
  see({ shape, isEmpty }: NonNullable<RequestContext['notes']['unrecognised']>): void {
    this.#shape ??= shape
    this.#isNothing ||= isEmpty === true
  }

  /**
   * Records that the answer may contain an uncounted image: it needs a review, and the hold is kept. Returns the
   * failure.
   */
  unrecognised(shape: string): Failure {
    this.#broken = true
    this.#shape = shape
    return fail('upstream_answer_unrecognised', { shape, charge: this.#terms.id })
  }

  /** Records that the response is not an answer and contains no image. Returns the cause. */
  nothing(cause: Failure): Failure {
    this.#isNothing = true
    return cause
  }

  /** Records that no image of the answer is delivered. Returns the cause. */
  undelivered(cause: Failure): Failure {
    this.#isUndelivered = true
    return cause
  }

  /** Records that the answer could not be read to its end and needs a review. Returns the cause. */
  broken(cause: unknown): unknown {
    this.#broken = true
    return cause
  }

  /** Ends the charge if the answer did not. @throws errors of the ledger; recovery then ends the charge */
  async settle(outcome: Outcome): Promise<void> {
    await this.#writing.catch(() => undefined)
    const { id, onCallerGone } = this.#terms
    if (this.#ended) {
      if (outcome.kind === 'answered') this.#ledger.delivered(id)
      return
    }
    this.#ended = true
    const refusal = this.#refusal
    const foreign = this.#terms.metadata()?.foreign
    if (foreign && hasNoImage(foreign)) this.#isNothing = true
    // If the charge cannot be read either, the ledger settles a review that finds an item whose commit was in doubt.
    const hasLines = this.#lines > 0 || (this.#broken && this.#found > 0 && (await this.#hasLines().catch(() => false)))
    if (hasLines) {
      const reason = outcome.kind === 'cut' ? `cut_by_${outcome.by}` : null
      const unrecognised = this.#shape === undefined ? reason : unrecognisedReason(this.#shape)
      // Items that cannot be written now are not charged; the images are.
      if (this.#terms.rule.lines) await this.#writeRest().catch(() => undefined)
      if (this.#isDoubtful) return void (await this.#doubt())
      await this.#ledger.settle({ id, delivery: 'partial', reason: unrecognised, ...this.#cost, ...this.#seller })
    } else if (this.#isUndelivered) await this.#ledger.void(id, 'not_delivered', this.#cost.vendorCost)
    else if (this.#isNothing) await this.#ledger.void(id, 'zero_images', this.#cost.vendorCost)
    else if (this.#shape !== undefined && this.#found === 0) {
      await this.#review(unrecognisedReason(this.#shape), 'kept')
    } else if (this.#broken) {
      await this.#review(this.#found > 0 ? 'line_not_recorded' : 'answer_malformed')
    } else if (refusal) {
      demandKept(await this.#keep([refusal]))
      await this.#ledger.settle({ id, delivery: 'unconfirmed', reason: 'refused', ...this.#cost, ...this.#seller })
    } else if (outcome.reach === 'untouched') await this.#ledger.void(id, 'not_sent')
    else if (outcome.reach === 'refused') await this.#ledger.void(id, 'upstream_refused', this.#cost.vendorCost)
    else if (outcome.reach === 'complete') await this.#ledger.void(id, 'zero_images', this.#cost.vendorCost)
    else if (onCallerGone === 'free' && outcome.kind === 'cut' && outcome.by === 'caller') {
      await this.#ledger.void(id, 'caller_gone')
    } else await this.#review(`outcome_${outcome.reach}`)
  }

  /** Leaves a charge with estimated items for review; they are booked when an administrator settles it. */
  #doubt(): Promise<boolean> {
    return this.#ledger.review(this.#terms.id, 'usage_missing', { lined: true, ...this.#seller, ...this.#cost })
  }

  #review(reason: string, hold?: 'kept'): Promise<boolean> {
    return this.#ledger.review(this.#terms.id, reason, { ...(hold && { hold }), ...this.#seller, ...this.#cost })
  }

  get #seller(): { readonly upstream?: string } {
    return this.#upstream === undefined ? {} : { upstream: this.#upstream }
  }

  /** Retries for a while if the ledger cannot be written; writing twice has the same effect as once. */
  async #insist(attempt: () => Promise<boolean>): Promise<boolean> {
    const until = this.#clock.tick() + patienceMs
    for (;;) {
      try {
        return await attempt()
      } catch (cause) {
        if (this.#ledger.healthy() || this.#clock.tick() >= until) throw cause
      }
      while (!this.#ledger.healthy() && this.#clock.tick() < until) await this.#clock.sleep(retryMs)
    }
  }

  /** Whether the charge has ended: the ledger itself writes an end that failed, as soon as it can. */
  async #hasEnded(): Promise<boolean> {
    const charge = await this.#ledger.find(this.#terms.id)
    return charge !== undefined && charge.state !== 'reserved'
  }

  /** Whether the charge has items: some of several may have been committed, although not all were. */
  async #hasLines(): Promise<boolean> {
    const charge = await this.#ledger.find(this.#terms.id)
    return charge !== undefined && charge.lines.length > 0
  }

  #write(work: () => Promise<void>): Promise<void> {
    if (this.#ended) return Promise.reject(this.#notRecorded(new Error('the request has been settled')))
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

const refused = { index: 0, source: 'told', width: null, height: null, flags: ['refused'], quantity: 1 } as const

/** The facts of each response with an image, if several were merged; else those of the one response. */
function reportsOf(metadata: ResponseMetadata | undefined): readonly Come['facts'][] {
  const several = new Set(metadata?.factsAt.values())
  return several.size > 0 ? [...several] : [metadata?.facts]
}

/** Adds the size to a link whose image was read. */
function measured(image: FoundImage, metadata: ResponseMetadata | undefined): FoundImage {
  const head = image.kind === 'link' ? metadata?.heads.get(image.index) : undefined
  if (!head) return image
  const found = measure(head)
  return found.kind === 'size' ? { ...image, size: found.size } : image
}

/** @throws Error if an item was not written because its charge has ended */
function demandKept(kept: readonly boolean[]): void {
  if (!kept.every(Boolean)) throw new Error('the charge was already closed when its item was to be written')
}

/** The reason of a charge for an answer that was delivered without a part. */
function omittedReason(shape: string): string {
  return `parts_omitted: ${shape}`
}

/** The reason of a charge that needs a review, with the shape of the answer. */
function unrecognisedReason(shape: string): string {
  return `answer_unrecognised: ${shape}`
}
