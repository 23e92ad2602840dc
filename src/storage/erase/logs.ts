import type { LogRow } from '../../domain/index.ts'
import { findHeads, type LogBatchHead, readSound, takeTogether } from '../log-batches/find.ts'
import type { LogBatch } from '../log-batches/parse.ts'
import { wordOf } from '../log-batches/search-words.ts'
import { deleteLogBatch, rewriteLogBatch } from '../log-batches/write.ts'
import { selectIn } from '../select-in.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

/** Batches that one transaction rewrites: other writes wait meanwhile on SQLite. */
const batchesMax = 32

/** Pseudonyms by name. */
export type Pseudonyms = ReadonlyMap<string, string>

/**
 * Erases people from the log, some batches at a time: their rows get the pseudonym and lose all content that they sent
 * or received. Done when nothing is left. @returns the number of rows; with `writes` false counts all rows and changes
 * none
 */
export function* eraseLogs(people: Pseudonyms, writes = true): QueryProgram<number> {
  const heads = new Map<number, LogBatchHead>()
  for (const user of people.keys())
    for (const head of yield* findHeads(0, Number.MAX_SAFE_INTEGER, wordOf({ user }))) heads.set(head.number, head)
  const inOrder = [...heads.values()].toSorted((a, b) => a.number - b.number)
  let [rows, batches] = [0, 0]
  for (let from = 0; from < inOrder.length; ) {
    const some = takeTogether(inOrder, from)
    from += some.length
    for (const number of yield* findTheirs(some, people)) {
      rows += yield* erasePage(number, people, writes)
      if (writes && ++batches >= batchesMax) return rows
    }
  }
  return rows
}

/** Of some batches those that have rows of these people, or may have because they are damaged. */
function* findTheirs(some: readonly LogBatchHead[], people: Pseudonyms): QueryProgram<readonly number[]> {
  const found = yield* selectIn(
    'SELECT number, body FROM log_page WHERE number IN (…)',
    some.map(({ number }) => number),
  )
  const theirs = found.filter(row => {
    const batch = readSound(row)
    return batch ? hasTheirs(batch, people) : [...people.keys()].some(name => text(row, 'body').includes(name))
  })
  return [...new Set(theirs.map(row => whole(row, 'number')))]
}

function hasTheirs({ whos }: LogBatch, people: Pseudonyms): boolean {
  return whos.some(({ user_name: user }) => user !== null && people.has(user))
}

function* erasePage(number: number, people: Pseudonyms, writes: boolean): QueryProgram<number> {
  // Another process may have compacted the batch meanwhile: the next round finds its rows.
  const [row] = yield ask(`SELECT number, count, body FROM log_page WHERE number = ? ${writes ? lockRows : ''}`, number)
  if (!row) return 0
  const batch = readSound(row)
  if (!batch) {
    // The batch cannot be read, and may contain their names.
    if (writes) yield* deleteLogBatch(number, undefined)
    return whole(row, 'count')
  }
  let erased = 0
  const left = batch.rows().map((one): LogRow => {
    const user = one.user === null ? undefined : people.get(one.user)
    if (user === undefined) return one
    erased++
    return { ...one, user, clientRequestId: null, dropped: [], errorValues: null, upstreamSaid: null }
  })
  if (writes && erased > 0) yield* rewriteLogBatch(number, batch, left)
  return erased
}
