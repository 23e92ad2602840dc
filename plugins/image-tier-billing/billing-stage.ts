import type { Awaitable, Failure, Passed, Stage, StoredAnswer } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import type { ImageCharge } from './image-charge.ts'
import { ImageRefused } from './translated-answer.ts'
import { type ScanResult, type Scanner, Unreadable, Unrecognised } from './scan-result.ts'

/** The largest answer stored for an idempotency key. */
export const storedAnswerBytesMax = 1024 * 1024

/**
 * Passes the answer on. The end of each image waits until its charge item is committed, and the end of the answer
 * until the charge is settled. Throws, which disconnects the client, if either may not be durable.
 */
export class BillingStage implements Stage {
  readonly #scanner: Scanner
  readonly #charge: ImageCharge
  readonly #status: number
  readonly #contentType: string
  readonly #refusal: (() => Failure) | undefined
  /** False if the answer is stored, because it will be read again. */
  readonly letsGo: boolean
  /** A copy of the output for the idempotency key; undefined if none is stored. */
  #kept: Buffer[] | undefined
  #keptBytes = 0
  #hasGone = false
  /** Whether the answer failed before any of it was delivered. */
  isWithheld = false

  constructor(
    scanner: Scanner,
    charge: ImageCharge,
    answer: {
      readonly status: number
      readonly contentType: string
      readonly keep: boolean
      /** The failure of an answer with an image, if the client cannot receive one. */
      readonly refusal?: (() => Failure) | undefined
    },
  ) {
    this.#scanner = scanner
    this.#charge = charge
    this.#status = answer.status
    this.#contentType = answer.contentType
    this.#refusal = answer.refusal
    this.#kept = answer.keep ? [] : undefined
    this.letsGo = !answer.keep && scanner.letsGo === true
  }

  write(chunk: Buffer): Awaitable<Passed> {
    const scanned = this.#scan(() => this.#scanner.write(chunk))
    if (scanned.out.length > 0) this.#hasGone = true
    if (this.#kept) this.#keep(scanned.out)
    if (scanned.done.length === 0) return scanned.out
    return this.#charge.commit(scanned.done).then(() => scanned.out)
  }

  async end(): Promise<Passed> {
    const scanned = this.#scan(() => this.#scanner.end())
    if (this.#kept) this.#keep(scanned.out)
    if (scanned.done.length > 0) await this.#charge.commit(scanned.done)
    const { omitted } = this.#scanner
    if (omitted !== undefined) this.#charge.leftOut(omitted)
    await this.#charge.finish(this.#storedAnswer())
    return scanned.out
  }

  /** Releases the scanner's memory; idempotent. */
  close(): void {
    this.#scanner.close?.()
    this.#kept = undefined
  }

  #scan(read: () => ScanResult): ScanResult {
    const scanned = this.#read(read)
    if (!this.#refusal || scanned.done.length === 0) return scanned
    this.isWithheld = !this.#hasGone
    throw this.#charge.undelivered(this.#refusal())
  }

  #read(read: () => ScanResult): ScanResult {
    try {
      return read()
    } catch (cause) {
      this.isWithheld = !this.#hasGone
      throw failureOf(this.#charge, cause)
    }
  }

  #keep(out: readonly Buffer[]): void {
    for (const bytes of out) {
      this.#keptBytes += bytes.length
      this.#kept?.push(bytes)
    }
    if (this.#keptBytes > storedAnswerBytesMax) this.#kept = undefined
  }

  #storedAnswer(): StoredAnswer | undefined {
    if (!this.#kept) return undefined
    return { status: this.#status, headers: { 'content-type': this.#contentType }, body: Buffer.concat(this.#kept) }
  }
}

/** The failure for an unreadable answer, which is also recorded for its charge. */
export function failureOf(charge: ImageCharge, cause: unknown): unknown {
  if (cause instanceof Unrecognised && cause.isNothing) return charge.nothing(nothing(cause))
  if (cause instanceof Unrecognised) return charge.unrecognised(cause.shape)
  if (cause instanceof ImageRefused) return fail('upstream_refused_images', { message: cause.message }, { cause })
  return charge.broken(cause instanceof Unreadable ? unreadable(cause) : cause)
}

function nothing(cause: Unrecognised): Failure {
  return fail('upstream_answer_malformed', { why: `${cause.shape}, and no image` }, { cause })
}

function unreadable(cause: Unreadable): Failure {
  return fail('upstream_answer_malformed', { why: cause.message }, { cause })
}
