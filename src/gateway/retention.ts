import { aheadMs, labelKinds, type Storage } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Awaitable, Clock, Pending } from '../util/index.ts'

/** The number of rows of a log page, so that most pages are deleted completely. */
const batchRows = 4_096
/** The pause between two batches, in which the storage does other work. */
const pauseMs = 200
const everyMs = 3_600_000
/** Delayed, because a start has other work. */
const firstMs = 60_000
/** If more changes wait, pruning the log is postponed. */
const busyChanges = 16

type Parts = {
  readonly storage: Pick<Storage, 'journal' | 'ledger' | 'waiting'> & {
    readonly books: Pick<Storage['books'], 'lapse'>
    readonly events?: Pick<Storage['events'], 'prune'>
    readonly labels?: Pick<Storage['labels'], 'prune'>
  }
  readonly clock: Clock
  readonly log: Log
  /** How long rows of the log are kept; undefined for unlimited. */
  keptMs(this: void): number | undefined
  /** How long charges stay under review; undefined for unlimited. */
  reviewMs(this: void): number | undefined
  /** How long unused names of end users and tags are kept; undefined for unlimited. */
  labelsMs?(this: void): number | undefined
  /** How long events are kept, and which webhooks must have received them; undefined for unlimited. */
  events?(this: void): { readonly keptMs: number; readonly webhooks: readonly string[] } | undefined
}

/**
 * In the background, deletes outdated rows of the request log in batches, voids charges after the configured time under
 * review, and deletes events that all receivers have got. Charges are kept. Deletion is final, so nothing is deleted
 * shortly after a jump of the clock.
 */
export class Retention {
  readonly #parts: Parts
  readonly #stop = new AbortController()
  #seen: { readonly now: number; readonly tick: number }
  #next: Pending | undefined
  #running: Promise<number> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#seen = { now: parts.clock.now(), tick: parts.clock.tick() }
    this.#wait(firstMs)
  }

  /**
   * Prunes until nothing is outdated, or other work needs the storage.
   * @returns the number of deleted log rows
   */
  run(): Promise<number> {
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async close(): Promise<void> {
    this.#next?.cancel()
    this.#stop.abort()
    await this.#running?.catch(() => undefined)
  }

  async #runOnce(): Promise<number> {
    if (this.#hasJumped()) {
      this.#parts.log.warn({}, 'the clock has jumped: nothing is deleted until it has run steadily for an hour')
      return 0
    }
    await this.#lapse()
    await this.#pruneEvents()
    await this.#pruneLabels()
    return this.#prune()
  }

  /** Whether the wall clock has moved differently from the monotonic clock since the last call. */
  #hasJumped(): boolean {
    const { clock } = this.#parts
    const seen = this.#seen
    this.#seen = { now: clock.now(), tick: clock.tick() }
    return Math.abs(this.#seen.now - seen.now - (this.#seen.tick - seen.tick)) > aheadMs
  }

  async #lapse(): Promise<void> {
    const { storage, clock, log, reviewMs } = this.#parts
    const waits = reviewMs()
    if (waits === undefined) return
    const gone = await this.#repeat(batchRows, () => storage.books.lapse(clock.now() - waits))
    if (gone > 0) log.warn({ charges: gone }, 'charges that were not reviewed in time were voided')
  }

  async #pruneEvents(): Promise<void> {
    const { storage, clock, log } = this.#parts
    const { events } = storage
    const rule = this.#parts.events?.()
    if (!events || !rule) return
    const until = clock.now() - rule.keptMs
    const gone = await this.#repeat(batchRows, () => events.prune(until, batchRows, rule.webhooks))
    if (gone > 0) log.info({ rows: gone, until: new Date(until).toISOString() }, 'expired events were deleted')
  }

  async #pruneLabels(): Promise<void> {
    const { storage, clock, log, labelsMs } = this.#parts
    const { labels } = storage
    const kept = labelsMs?.()
    if (kept === undefined || !labels) return
    const until = clock.now() - kept
    for (const kind of labelKinds) {
      const gone = await this.#repeat(batchRows, () => labels.prune(kind, until, batchRows))
      if (gone > 0) log.info({ kind, names: gone, until: new Date(until).toISOString() }, 'unused names were erased')
    }
  }

  async #prune(): Promise<number> {
    const { storage, clock, log, keptMs } = this.#parts
    const kept = keptMs()
    if (kept === undefined) return 0
    const until = clock.now() - kept
    const gone = await this.#repeat(batchRows, () => storage.journal.prune(until, batchRows))
    if (gone > 0) log.info({ rows: gone, until: new Date(until).toISOString() }, 'expired log rows were deleted')
    return gone
  }

  /** Repeats a step until it returns less than a batch, or other work needs the storage. @returns the total */
  async #repeat(batch: number, once: () => Awaitable<number>): Promise<number> {
    const { storage, clock } = this.#parts
    let all = 0
    while (!this.#stop.signal.aborted && storage.ledger.healthy()) {
      if (storage.waiting().changes < busyChanges) {
        const count = await once()
        all += count
        if (count < batch) break
      }
      await clock.sleep(pauseMs, this.#stop.signal)
    }
    return all
  }

  #wait(ms: number): void {
    this.#next = this.#parts.clock.after(ms, () => {
      this.run()
        .catch((error: unknown) => this.#parts.log.warn({ err: error }, 'expired records could not be deleted'))
        .finally(() => {
          if (!this.#stop.signal.aborted) this.#wait(everyMs)
        })
    })
  }
}
