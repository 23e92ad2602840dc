import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram, type Rows } from '../query.ts'
import { text, wholeOrNull } from '../rows.ts'
import { endOfPiece, positionOfId } from './position.ts'

type Pruning = {
  readonly until: number
  readonly limit: number
  readonly webhooks: readonly string[]
  readonly at: number
}

/** Deletes events, and pieces of the ledger, older than `until` that were sent to all receivers. */
export function* pruneEvents({ until, limit, webhooks, at }: Pruning): QueryProgram<number> {
  const before = yield* firstUndelivered(webhooks)
  const gone: Rows[] = []
  for (const [table, name] of [
    ['event', 'id'],
    ['event_slice', 'place'],
  ] as const) {
    // Without receivers events have no position.
    const isDelivered = `(place < ?${webhooks.length === 0 ? ' OR place IS NULL' : ''})`
    gone.push(
      yield ask(
        // Looks only at the oldest rows: without an end, a search that finds nothing reads all of them. Rows from a
        // clock that was ahead do not stop the deletion: those with a time in the future do not count, and of the
        // others there may be `limit`.
        `DELETE FROM ${table} WHERE ${name} IN
           (SELECT ${name} FROM (SELECT * FROM ${table} WHERE at <= ? ORDER BY ${name} LIMIT ?) oldest
            WHERE at < ? AND ${isDelivered} ORDER BY ${name} LIMIT ?) RETURNING ${name}`,
        at,
        2 * limit,
        until,
        before,
        limit,
      ),
    )
  }
  yield ask('DELETE FROM webhook_retry WHERE next_at IS NULL AND at < ?', until)
  return Math.max(...gone.map(rows => rows.length))
}

/** The first position that one of the receivers has not got, or gets again. */
function* firstUndelivered(webhooks: readonly string[]): QueryProgram<number> {
  const positions = yield* selectIn('SELECT name, through FROM webhook WHERE name IN (…)', webhooks)
  // A receiver that has got nothing yet begins with the next event.
  const waiting = yield* selectIn(
    `SELECT min(event) AS through, max(next_at) AS next_at FROM webhook_retry WHERE next_at IS NOT NULL AND webhook IN (…)`,
    webhooks,
  )
  const again = waiting.filter(row => wholeOrNull(row, 'next_at') !== null)
  return Math.min(
    Number.MAX_SAFE_INTEGER,
    ...positions.map(row => firstBehind(text(row, 'through'))),
    ...again.map(row => positionOfId(text(row, 'through')).place),
  )
}

/** If only a part of a piece was sent, the rest of it follows the id. */
function firstBehind(id: string): number {
  const { place, position } = positionOfId(id)
  return position === 0 || position === endOfPiece.position ? place + 1 : place
}
