import type { Charge } from './charge.ts'
import type { Clock } from '../util/clock.ts'
import { firstIdAt } from '../util/ids.ts'
import type { Journal, LogMatch } from './journal.ts'
import type { LogRow } from './shapes/log-row.ts'

const pollMs = 1_000
const pageRows = 200
const pagesMax = 5
/** A row is written a moment after its request ended, by another replica's clock perhaps. */
const lateMs = 5_000
/** Ids are in the order in which requests began: most polls look back so far, and every tenth for the long ones too. */
const lookBackMs = 30_000
const longMs = 20 * 60_000
const longEvery = 10

export type FollowedRow = { readonly row: LogRow; readonly charge: Charge | null }

export type FollowOptions = {
  readonly clock: Clock
  readonly left: AbortSignal
  /** Ids of rows that the follower has already, the newest, and that it has skipped. */
  readonly known?: readonly string[]
  readonly onFault?: (error: unknown) => void
}

/**
 * Rows of the log as they come, of each poll one list, empty ones too; rows that other processes write come as well. The log
 * is read once a second. It ends when `left` is aborted. `onFault` gets the error when the log cannot be read, and the next poll
 * returns what was missed; without it the error is thrown.
 */
export async function* followLog(
  journal: Pick<Journal, 'list'>,
  match: LogMatch,
  { clock, left, known = [], onFault }: FollowOptions,
): AsyncIterable<readonly FollowedRow[]> {
  const began = clock.now() - (known.length > 0 ? lateMs : 0)
  const sent = new Map(known.map(id => [id, began]))
  let missedFrom: number | undefined
  for (let poll = 1; !left.aborted; poll++) {
    const now = clock.now()
    const long = poll % longEvery === 0 || missedFrom !== undefined
    // A clock that was ahead when a client began to listen hides nothing from it.
    const recent = Math.min(missedFrom ?? now, now) - lateMs - (long ? longEvery : 2) * pollMs
    const endedFrom = Math.max(Math.min(began, now), recent)
    const since = Math.min(missedFrom ?? now, now) - (long ? longMs : lookBackMs)
    const fresh: FollowedRow[] = []
    try {
      for await (const found of ended(journal, { ...match, endedFrom }, firstIdAt('req_', since))) {
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
 * Ids of the rows that have ended a moment ago. A client that shows some of the log and then follows it reads these first: rows
 * that it skipped would come as if they were new.
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
