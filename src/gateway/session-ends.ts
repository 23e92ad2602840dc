import type { OpenSession, Storage } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'

/** The interval of checks for sessions that people have ended. */
const everyMs = 1_000

type Parts = {
  readonly store: Pick<Storage['liveSessions'], 'opened' | 'closed' | 'ended'>
  /** Ends a session of this process. */
  readonly end: (id: string) => void
  readonly clock: Clock
  readonly log: Log
}

/**
 * Records the open sessions of this process, and ends those that people have ended at any gateway or on the command
 * line. Does nothing without open sessions.
 */
export class SessionEnds {
  readonly #parts: Parts
  /** The last write of each open session, because writes of one session must be in order. */
  readonly #writes = new Map<string, Promise<void>>()
  readonly #watch: { cancel(): void }
  #looking: Promise<void> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#watch = parts.clock.every(everyMs, () => void this.look())
  }

  readonly opened = (session: OpenSession): void => {
    this.#writes.set(session.id, this.#quiet(this.#parts.store.opened(session)))
  }

  readonly closed = (id: string): void => {
    const before = this.#writes.get(id)
    if (!before) return
    const write = before.then(() => this.#quiet(this.#parts.store.closed(id)))
    this.#writes.set(id, write)
    void write.then(() => this.#writes.delete(id))
  }

  /** Ends the sessions that people have ended. Never rejects. */
  look(): Promise<void> {
    if (this.#writes.size === 0) return Promise.resolve()
    return (this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined
    }))
  }

  async #lookOnce(): Promise<void> {
    const { store, end, log } = this.#parts
    try {
      for (const id of await store.ended()) end(id)
    } catch (error) {
      log.warn({ err: error }, 'the sessions that were ended could not be read; retrying')
    }
  }

  /** A session without a row continues, but is not listed. */
  async #quiet(write: Promise<void>): Promise<void> {
    try {
      await write
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'an open session could not be recorded')
    }
  }

  async close(): Promise<void> {
    this.#watch.cancel()
    await this.#looking
    await Promise.all(this.#writes.values())
  }
}
