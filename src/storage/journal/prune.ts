import { firstIdAt } from '../../util/ids.ts'
import { findHeads, type LogBatchHead, readSound } from '../log-batches/find.ts'
import { LogWalk } from '../log-batches/walk.ts'
import { deleteLogBatch, rewriteLogBatch } from '../log-batches/write.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { begunAt } from '../charge-batches/time-bounds.ts'

/** The name in `meta` under which the position of pruning is stored. */
export const prunedUntil = 'pruned_until'

/** Deletes at most `limit` rows older than `until`, the oldest first. Charges stay. @returns the number of rows. */
export function* pruneLogs({ until, limit }: { readonly until: number; readonly limit: number }): QueryProgram<number> {
  yield ask(
    `INSERT INTO meta (name, value) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value < excluded.value`,
    prunedUntil,
    Math.floor(until),
  )
  const end = yield* endOfOldest(until, limit)
  const heads = yield* findHeads(0, placeOfEnd(end, until))
  let gone = 0
  for (const head of heads.toSorted((a, b) => a.number - b.number)) gone += yield* prunePage(head, end, until)
  return gone
}

/** The latest start of batches with rows that sort before the end. */
function placeOfEnd(end: string, until: number): number {
  const ms = begunAt(end)
  return Number.isNaN(ms) ? until : ms
}

/** @returns the number of deleted rows */
function* prunePage({ number, count, lastMs }: LogBatchHead, end: string, until: number): QueryProgram<number> {
  // Another process may be pruning or compacting.
  const [row] = yield ask(`SELECT number, body FROM log_page WHERE number = ? ${lockRows}`, number)
  if (!row) return 0
  const batch = readSound(row)
  // An unreadable batch is deleted when all of it is older than `until`.
  const old = batch ? batch.firstAt(end) : lastMs < until ? count : 0
  if (old === 0) return 0
  if (!batch || old === batch.count) yield* deleteLogBatch(number, batch)
  else yield* rewriteLogBatch(number, batch, batch.rows().slice(old))
  return old
}

/** The id before which the oldest rows are deleted. They may be in several batches, because batches overlap. */
function* endOfOldest(until: number, limit: number): QueryProgram<string> {
  const walk = new LogWalk({ until }, 'oldest', 'skip')
  for (let found = 0; found < limit; ) {
    const some = yield* walk.next()
    if (some.length === 0) break
    const last = some[limit - found]
    if (last) return last.id
    found += some.length
    if (found === limit) return `${some.at(-1)?.id}\0`
  }
  return firstIdAt('req_', until)
}
