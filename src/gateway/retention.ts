import { aheadMs, labelKinds, type Storage } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Awaitable, Clock, Pending } from '../util/index.ts'

/** As many as a page of the log has: then most of them go whole. */
const batchRows = 4_096
/** Between two batches the storage serves others. */
const pauseMs = 200
const everyMs = 3_600_000
/** Not while a start has other things to do. */
const firstMs = 60_000
/** Changes that are waited for: more of them, and the log can wait. */
const busyChanges = 16

type Parts = {
  readonly storage: Pick<Storage, 'journal' | 'ledger' | 'waiting'> & {
    readonly books: Pick<Storage['books'], 'lapse'>
    readonly events?: Pick<Storage['events'], 'prune'>
    readonly labels?: Pick<Storage['labels'], 'prune'>
  }
  readonly clock: Clock
  readonly log: Log
  /** How long rows of the log are kept; undefined for ever. */
  keptMs(this: void): number | undefined
  /** How long charges wait for a person; undefined for ever. */
  reviewMs(this: void): number | undefined
  /** How long names of end users and tags are kept that no request has; undefined for ever. */
  labelsMs?(this: void): number | undefined
  /** How long events are kept, and which webhooks have to have got them; undefined for ever. */
  events?(this: void): { readonly keptMs: number; readonly webhooks: readonly string[] } | undefined
}

/**
 * Forgets rows of the request log that are out of date, some at a time, in the background, and voids charges that were under
 * review for as long as the configuration says. Events go that all receivers have got. Charges stay. What is gone does not come back, so nothing goes by a clock that
 * has just jumped.
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
   * Prunes until nothing is out of date, or other work needs the storage more.
   * @returns how many rows of the log went
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

  /** Whether the time of day has gone on otherwise than time itself since the last call. */
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

  /** Does something until it finds less than a batch, or the storage is needed more. @returns how much it was in all */
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
