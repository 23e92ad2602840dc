import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, Log, Storage } from './kit/index.ts'

const batchRows = 500
/** Between two batches the storage is everybody else's. */
const pauseMs = 200
const everyMs = 3_600_000
/** Not while a start has other things to do. */
const firstMs = 60_000
/** Changes that are waited for: more of them, and the log can wait. */
const busyChanges = 16

type Parts = {
  readonly storage: Pick<Storage, 'journal' | 'ledger' | 'waiting'>
  readonly clock: Clock
  readonly log: Log
  /** How long rows are kept; undefined for ever. */
  keptMs(this: void): number | undefined
}

/** Forgets rows of the request log that are out of date, some at a time, in the background. Charges stay. */
export class Retention {
  readonly #parts: Parts
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<number> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#wait(firstMs)
  }

  /** Prunes until nothing is out of date, or somebody needs the storage more. @returns how many rows went */
  run(): Promise<number> {
    this.#running ??= this.#prune().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#stop.abort()
    await this.#running?.catch(() => undefined)
  }

  async #prune(): Promise<number> {
    const { storage, clock, log, keptMs } = this.#parts
    const kept = keptMs()
    if (kept === undefined) return 0
    const until = clock.now() - kept
    let gone = 0
    while (!this.#stop.signal.aborted && storage.ledger.healthy()) {
      if (storage.waiting().changes < busyChanges) {
        const count = await storage.journal.prune(until, batchRows)
        gone += count
        if (count < batchRows) break
      }
      await sleep(pauseMs, undefined, { ref: false, signal: this.#stop.signal }).catch(() => undefined)
    }
    if (gone > 0)
      log.info({ rows: gone, until: new Date(until).toISOString() }, 'rows of the log are out of date and gone')
    return gone
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      this.run()
        .catch((error: unknown) => this.#parts.log.warn({ err: error }, 'old rows of the log could not be deleted'))
        .finally(() => {
          if (!this.#stop.signal.aborted) this.#wait(everyMs)
        })
    }, ms).unref()
  }
}
