import type { LogFilter, LogRow } from '../../domain/index.ts'
import { findRows } from '../log-batches/find.ts'
import { LogWalk } from '../log-batches/walk.ts'
import type { QueryProgram } from '../query.ts'
import { asksForCharge, idsOfFew, keepCharged } from './charged.ts'

/** The maximum size of a page, whatever the request. */
const rowsMax = 1_000
/** The number of charges in one lookup: few at first, because each may be in another page. */
const idsFirst = 16
const idsMost = 256

/** Lists rows newest first, by id: ids are ordered by time. The next page begins `before` the last id of this one. */
export function* listLogs(filter: LogFilter): QueryProgram<readonly LogRow[]> {
  // Rows newer than a given one are listed oldest first, so that a slow client continues where it stopped.
  const isOnward = filter.after !== undefined
  const most = Math.min(Math.max(filter.limit, 0), rowsMax)
  const next = createSource(filter)
  const found: LogRow[] = []
  while (found.length < most) {
    const some = yield* next()
    if (!some) break
    found.push(...some.slice(0, most - found.length))
  }
  return isOnward ? found.toReversed() : found
}

/** Returns the next rows at each call, in order; undefined at the end. */
function createSource(filter: LogFilter): () => QueryProgram<readonly LogRow[] | undefined> {
  const few = idsOfFew(filter)
  if (few) return byCharges(filter, few)
  const walk = new LogWalk(filter, filter.after === undefined ? 'newest' : 'oldest')
  return function* next() {
    const rows = yield* walk.next()
    if (rows.length === 0) return undefined
    return asksForCharge(filter) ? yield* keepCharged(rows, filter) : rows
  }
}

function byCharges(filter: LogFilter, few: NonNullable<ReturnType<typeof idsOfFew>>): ReturnType<typeof createSource> {
  let last: string | undefined
  let together = Math.min(Math.max(filter.limit, idsFirst), idsMost)
  return function* next() {
    const ids = yield* few(together, last)
    together = Math.min(together * 2, idsMost)
    if (ids.length === 0) return undefined
    last = ids.at(-1)
    const rows = yield* findRows(ids, filter)
    return yield* keepCharged(
      ids.flatMap(id => rows.get(id) ?? []),
      filter,
    )
  }
}
