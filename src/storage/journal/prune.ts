import { firstIdAt } from '../../kit/ids.ts'
import { findHeads, readPages } from '../pages/find.ts'
import { LogWalk } from '../pages/walk.ts'
import { deletePage, shortenPage } from '../pages/write.ts'
import { ask, type QueryProgram } from '../query.ts'

/** Where `meta` keeps how far the log was pruned. */
export const prunedUntil = 'pruned_until'

/** Deletes at most `limit` rows older than `until`, the oldest first. Charges stay. @returns how many. */
export function* pruneLogs({ until, limit }: { readonly until: number; readonly limit: number }): QueryProgram<number> {
  yield ask(
    `INSERT INTO meta (name, value) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value < excluded.value`,
    prunedUntil,
    Math.floor(until),
  )
  const end = yield* endOfOldest(until, limit)
  let gone = 0
  for (const head of yield* findHeads(0, until)) {
    const [page] = yield* readPages([head])
    const old = page?.firstAt(end) ?? 0
    if (!page || old === 0) continue
    if (old === page.count) yield* deletePage(head.number, page)
    else yield* shortenPage(head.number, page, page.rows().slice(old))
    gone += old
  }
  return gone
}

/** What the oldest rows sort before: pages overlap, so they are in no one page. */
function* endOfOldest(until: number, limit: number): QueryProgram<string> {
  const walk = new LogWalk({ until }, 'oldest')
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
