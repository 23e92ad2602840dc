import type { Anchor, Storage } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Clock, Pending } from '../util/index.ts'

const everyMs = 3_600_000
/** Delayed, because a start has other work. */
const firstMs = 60_000
/** The number of chains per log line. */
const together = 50
/** The maximum time that a shutdown waits for the ledger. */
const closeMs = 5_000

type Parts = {
  readonly storage: Pick<Storage, 'flush'> & { readonly books: Pick<Storage['books'], 'anchor'> }
  readonly clock: Clock
  readonly log: Log
  /** Receives each anchor if telemetry is on. */
  report(this: void, anchor: Anchor): void
}

/**
 * Logs the ends of the ledger's chains every hour and at shutdown, so that entries cannot be removed or rewritten later
 * without contradicting the log. Chains without new entries are not logged again.
 */
export class Anchors {
  readonly #parts: Parts
  readonly #reported = new Map<string, string>()
  #next: Pending | undefined
  #closed = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#wait(firstMs)
  }

  /** @throws Error if the ledger is unreadable */
  async run(): Promise<void> {
    const { storage, log, report } = this.#parts
    const { chains, ...facts } = await storage.books.anchor()
    const moved = chains.filter(end => this.#reported.get(end.chain) !== end.head)
    for (let at = 0; at < moved.length; at += together) {
      const anchor = { ...facts, chains: moved.slice(at, at + together) }
      log.info({ anchor }, 'ledger anchor')
      report(anchor)
    }
    for (const { chain, head } of moved) this.#reported.set(chain, head)
  }

  /** Logs the ends of the chains, after pending writes. */
  async close(): Promise<void> {
    this.#closed = true
    this.#next?.cancel()
    const { storage, clock } = this.#parts
    const last = storage.flush().then(() => this.run())
    let limit: Pending | undefined
    const late = new Promise<void>(resolve => (limit = clock.after(closeMs, resolve)))
    await Promise.race([last.catch(() => undefined), late])
    limit?.cancel()
  }

  #wait(ms: number): void {
    this.#next = this.#parts.clock.after(ms, () => {
      this.run()
        .catch((error: unknown) => this.#parts.log.warn({ err: error }, 'the ledger anchor could not be read'))
        .finally(() => {
          if (!this.#closed) this.#wait(everyMs)
        })
    })
  }
}
