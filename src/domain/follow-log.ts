import type { Clock } from '../util/clock.ts'
import { firstIdAt } from '../util/ids.ts'
import type { Journal, LoggedRequest, LogMatch } from './journal.ts'

const pollMs = 1_000
const pageRows = 200
const pagesMax = 5
/**
 * The maximum delay of a row: it is written shortly after its request ends, possibly with the clock of another
 * replica.
 */
const lateMs = 5_000
/**
 * Ids are in the order of the starts of requests. Most polls look back this far; every tenth poll looks further back,
 * for long requests.
 */
const lookBackMs = 30_000
const longMs = 20 * 60_000
const longEvery = 10

export type FollowedRow = LoggedRequest

export type FollowOptions = {
  readonly clock: Clock
  readonly left: AbortSignal
  /** Ids of rows that the follower already has, the newest of them, and rows that it has skipped. */
  readonly known?: readonly string[]
  /** Rows that have ended from then on come first, of the last 20 minutes. */
  readonly since?: number
  readonly onFault?: (error: unknown) => void
}

/**
 * Follows the log: yields one list of rows per poll, which may be empty, including rows of other processes. The log is
 * read once a second. Ends when `left` is aborted. If the log cannot be read, `onFault` gets the error, and the next
 * poll returns the missed rows; without `onFault` the error is thrown.
 */
export async function* followLog(
  journal: Pick<Journal, 'list'>,
  match: LogMatch,
  { clock, left, known = [], since, onFault }: FollowOptions,
): AsyncIterable<readonly FollowedRow[]> {
  const began = (since ?? clock.now()) - (known.length > 0 || since !== undefined ? lateMs : 0)
  const sent = new Map(known.map(id => [id, began]))
  let missedFrom = since === undefined ? undefined : Math.max(since, clock.now() - longMs)
  for (let poll = 1; !left.aborted; poll++) {
    const now = clock.now()
    const long = poll % longEvery === 0 || missedFrom !== undefined
    // Includes rows of a clock that was ahead when the client began to follow.
    const recent = Math.min(missedFrom ?? now, now) - lateMs - (long ? longEvery : 2) * pollMs
    const endedFrom = Math.max(Math.min(began, now), recent)
    const from = Math.min(missedFrom ?? now, now) - (long ? longMs : lookBackMs)
    const fresh: FollowedRow[] = []
    try {
      for await (const found of ended(journal, { ...match, endedFrom }, firstIdAt('req_', from))) {
        if (sent.has(found.row.id)) continue
        sent.set(found.row.id, now)
        fresh.push(found)
      }
      missedFrom = undefined
    } catch (error) {
      if (!onFault) throw error
      missedFrom ??= now
      onFault(error)
    }
    for (const [id, at] of sent) if (missedFrom === undefined && Math.abs(now - at) > longMs) sent.delete(id)
    yield fresh
    await clock.sleep(pollMs, left)
  }
}

/**
 * Ids of rows that just ended. A client that shows part of the log and then follows it reads these first; otherwise
 * rows that it skipped would arrive as new ones.
 */
export async function justEnded(
  journal: Pick<Journal, 'list'>,
  match: LogMatch,
  { now }: Pick<Clock, 'now'>,
): Promise<readonly string[]> {
  const ids: string[] = []
  const since = firstIdAt('req_', now() - longMs)
  for await (const { row } of ended(journal, { ...match, endedFrom: now() - lateMs }, since)) ids.push(row.id)
  return ids
}

async function* ended(journal: Pick<Journal, 'list'>, match: LogMatch, from: string): AsyncIterable<FollowedRow> {
  let after = from
  for (let page = 0; page < pagesMax; page++) {
    const rows = (await journal.list({ ...match, after, limit: pageRows })).toReversed()
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < pageRows) return
    after = last.row.id
  }
}
