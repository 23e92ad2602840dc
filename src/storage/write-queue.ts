import type { Log } from '../plugin-api/index.ts'
import type { Clock, Pending } from '../util/index.ts'
import { StorageError } from './errors.ts'
import type { LogQueue, Batch } from './journal/log-queue.ts'
import type { ChargeQueue, Posted } from './ledger/charge-queue.ts'
import { Outage } from './outage.ts'

/** How long rows that no caller waits for wait for others. */
const lazyMs = 50
/** How long a closing storage waits for the end of an outage, and how often it checks. */
const closeMs = 10_000
const closeEveryMs = 100
/** How many charges are logged between two pauses: the log drops lines that it has no time to write. */
const loggedTogether = 2_000

/** A caller that waits until everything received so far is durable. */
type Flush = {
  readonly operations: number
  readonly rows: number
  readonly postings: number
  resolve(): void
  reject(error: Error): void
}

export type WriteQueueParts = {
  readonly logQueue: LogQueue
  readonly chargeQueue: ChargeQueue
  readonly clock: Clock
  readonly log: Log
}

export type WriteQueueDriver = {
  readonly probeMs: number
  /** A write that changes nothing: resolves when writing works. */
  readonly probe: () => Promise<unknown>
  /** Sends pending work; `lazily`: it has waited long enough for more. */
  readonly send: (lazily: boolean) => void
}

/**
 * The pending work of a writer: how many operations, and the log rows and charges that no caller waits for, of which
 * one batch and one group may be in flight; the callers that wait for all of it; and whether the storage can be
 * written.
 */
export class WriteQueue {
  readonly #logQueue: LogQueue
  readonly #chargeQueue: ChargeQueue
  readonly #clock: Clock
  readonly #log: Log
  readonly #send: (lazily: boolean) => void
  readonly outage: Outage
  #lazy: Pending | undefined
  closed = false
  #submitted = 0
  #finished = 0
  #flushes: Flush[] = []
  #droppedReported = 0
  /** Whether charges are in flight. */
  hasPost = false
  hasBatch = false

  constructor({ logQueue, chargeQueue, clock, log }: WriteQueueParts, { probeMs, probe, send }: WriteQueueDriver) {
    this.#logQueue = logQueue
    this.#chargeQueue = chargeQueue
    this.#clock = clock
    this.#log = log
    this.#send = send
    const ended = (): void => (this.waits ? this.touch() : undefined)
    this.outage = new Outage({ clock, log, everyMs: probeMs, probe, ended })
  }

  /** False if commits fail, or charges wait in vain. */
  get healthy(): boolean {
    return this.outage.reason === undefined && !this.closed && !this.#chargeQueue.overfull
  }

  /** Whether rows or charges are pending. */
  get waits(): boolean {
    return this.#logQueue.size + this.#chargeQueue.size > 0
  }

  /** Whether as many are pending as one group takes. */
  get full(): boolean {
    return this.#logQueue.full || this.#chargeQueue.full
  }

  get isFlushing(): boolean {
    return this.#flushes.length > 0
  }

  submitted(): void {
    this.#submitted++
  }

  finished(operations: number): void {
    this.#finished += operations
  }

  /** The next charges; undefined if there are none, or others are in flight. */
  takePost(): Posted | undefined {
    const charges = this.hasPost ? undefined : this.#chargeQueue.take()
    this.hasPost ||= charges !== undefined
    return charges
  }

  /** The next rows; undefined if there are none, or others are in flight. */
  takeBatch(): Batch | undefined {
    const rows = this.hasBatch ? undefined : this.#logQueue.take()
    this.hasBatch ||= rows !== undefined
    return rows
  }

  /** The charges in flight are durable, or are not known to be, or were refused for their content. */
  postArrived(error: Error | undefined): void {
    this.hasPost = false
    if (!error) return this.#chargeQueue.done()
    if (mayBeLater(error)) return this.#chargeQueue.giveBack()
    const posting = this.#chargeQueue.refused()
    // The charge contradicts its own rows; its content is logged, where an administrator can find it.
    if (posting) this.#log.error({ fault: error.message, posting }, 'a charge cannot be written')
  }

  /** The rows in flight are durable, or are not known to be, or were refused for their content. */
  batchArrived(error: Error | undefined): void {
    this.hasBatch = false
    if (error && mayBeLater(error)) return this.#logQueue.giveBack()
    this.#logQueue.done({ lost: error !== undefined })
    if (error) this.#log.error({ fault: error.message }, 'log rows could not be written and are lost')
    const { dropped } = this.#logQueue
    if (dropped === this.#droppedReported) return
    this.#log.warn({ rows: dropped - this.#droppedReported }, 'log rows were dropped: the storage is too slow for them')
    this.#droppedReported = dropped
  }

  /** Reports that something was put into the log queue or the charge queue. */
  touch(): void {
    if (this.closed) return
    if (this.full) this.#send(false)
    else
      this.#lazy ??= this.#clock.after(lazyMs, () => {
        this.#lazy = undefined
        this.#send(true)
      })
  }

  /** Sends pending work now. */
  stopWaiting(): void {
    this.#lazy?.cancel()
    this.#lazy = undefined
  }

  /** Resolves when everything received so far is durable. */
  async flush(): Promise<void> {
    const { appended: rows } = this.#logQueue
    const { appended: postings } = this.#chargeQueue
    const wanted = { operations: this.#submitted, rows, postings }
    if (this.#isThrough(wanted)) return
    const flushing = new Promise<void>((resolve, reject) => {
      this.#flushes.push({ ...wanted, resolve, reject })
    })
    const { reason } = this.outage
    if (reason !== undefined) this.rejectFlushes(new StorageError('storage_unavailable', { reason }))
    this.#send(false)
    return flushing
  }

  /**
   * Writes pending work. Charges wait here for the end of an outage, for `waitMs` at least: a gateway is often replaced
   * while its database is. Nothing is sent afterwards.
   * @returns the error if charges are left, which are then in the log
   */
  async close(waitMs = 0): Promise<StorageError | undefined> {
    const mostMs = Math.max(closeMs, waitMs)
    const until = this.#clock.tick() + mostMs
    const failure = await this.#flushNow()
    if (this.#chargesLeft > 0)
      this.#log.warn({ charges: this.#chargesLeft, ms: mostMs }, 'the stop waits for the storage to write charges')
    while (this.#chargesLeft > 0 && this.#clock.tick() < until) {
      await this.#clock.sleep(closeEveryMs)
      await this.#flushNow()
    }
    if (failure && this.outage.reason !== undefined)
      this.#log.error({ err: failure }, 'the storage closes with rows that could not be written')
    this.closed = true
    this.stopWaiting()
    this.outage.close()
    const left = this.#chargeQueue.left()
    for (const [i, posting] of left.entries()) {
      if (i % loggedTogether === loggedTogether - 1) await this.#clock.sleep(closeEveryMs)
      this.#log.error({ posting }, 'a charge is not known to be written')
    }
    return left.length > 0 ? new StorageError('charges_unwritten', { count: left.length }) : undefined
  }

  /** Charges that are not known to be durable. */
  get #chargesLeft(): number {
    return this.#chargeQueue.appended - this.#chargeQueue.through
  }

  /** Writes pending work, unless the storage is known to be unavailable. @returns why that failed */
  async #flushNow(): Promise<unknown> {
    if (this.outage.reason !== undefined) return undefined
    try {
      await this.flush()
      return undefined
    } catch (error) {
      return error
    }
  }

  /** Resolves the flushes whose work is done. */
  checkFlushes(): void {
    const done = this.#flushes.filter(flush => this.#isThrough(flush))
    if (done.length === 0) return
    this.#flushes = this.#flushes.filter(flush => !done.includes(flush))
    for (const flush of done) flush.resolve()
  }

  rejectFlushes(error: Error): void {
    const flushes = this.#flushes
    this.#flushes = []
    for (const flush of flushes) flush.reject(error)
  }

  #isThrough({ operations, rows, postings }: Pick<Flush, 'operations' | 'rows' | 'postings'>): boolean {
    return this.#finished >= operations && this.#logQueue.through >= rows && this.#chargeQueue.through >= postings
  }
}

const later: ReadonlySet<string> = new Set(['storage_unavailable', 'storage_busy', 'storage_closed'])

/** The error does not concern the work that was to be written, so it may succeed later. */
function mayBeLater(error: Error): boolean {
  return error instanceof StorageError && later.has(error.code)
}
