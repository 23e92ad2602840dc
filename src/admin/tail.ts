import { firstIdAt, type LogMatch, logRecord } from '../kit/index.ts'
import type { Ask } from './api.ts'
import { Semaphore } from './semaphore.ts'
import { isSessionOpen } from './session/sessions.ts'

const pollMs = 1_000
/** Of polls; the sign of life that keeps proxies from cutting. */
const pingEvery = 15
const pageRows = 200
const pagesMax = 5
const listeners = { all: 50, each: 10 }
/** A row is written a moment after its request ended, by another replica's clock perhaps. */
const lateMs = 5_000
/** Ids are in the order in which requests began: most polls look back so far, and every tenth for the long ones too. */
const lookBackMs = 30_000
const longMs = 20 * 60_000
const longEvery = 10

/**
 * Rows of the log as they come, by events. The log is asked once a second while somebody listens, so that rows of other
 * replicas come too. It ends when whoever listens leaves, and before the next row when their session ends or their role
 * changes: what they may see was decided at its beginning.
 */
export class Tails {
  readonly #semaphore = new Semaphore(listeners)

  /** @throws Failure slow_down when too many listen already */
  follow(ask: Ask, match: LogMatch): AsyncIterable<string> {
    this.#semaphore.take(ask)
    return this.#events(ask, match)
  }

  async *#events(ask: Ask, match: LogMatch): AsyncIterable<string> {
    const { left, parts } = ask
    const began = parts.clock.now()
    const sent = new Map<string, number>()
    yield 'retry: 3000\n: following\n\n'
    for (let poll = 1; !left.aborted; poll++) {
      const now = parts.clock.now()
      const long = poll % longEvery === 0
      // A clock that was ahead when somebody began to listen hides nothing from them.
      const endedFrom = Math.max(Math.min(began, now), now - lateMs - (long ? longEvery : 2) * pollMs)
      const since = now - (long ? longMs : lookBackMs)
      if (!(await isSessionOpen(ask))) return
      for await (const { row, charge } of this.#ended(ask, { ...match, endedFrom }, firstIdAt('req_', since))) {
        if (sent.has(row.id)) continue
        sent.set(row.id, now)
        const record = logRecord(row, charge, parts.plan().plugins.known)
        yield `event: log\nid: ${row.id}\ndata: ${JSON.stringify(record)}\n\n`
      }
      for (const [id, at] of sent) if (Math.abs(now - at) > longMs) sent.delete(id)
      if (poll % pingEvery === 0) yield ': ping\n\n'
      await parts.clock.sleep(pollMs, left)
    }
  }

  async *#ended({ parts }: Ask, match: LogMatch, from: string) {
    let after = from
    for (let page = 0; page < pagesMax; page++) {
      const rows = (await parts.storage.journal.list({ ...match, after, limit: pageRows })).toReversed()
      yield* rows
      const last = rows.at(-1)
      if (!last || rows.length < pageRows) return
      after = last.row.id
    }
  }
}
