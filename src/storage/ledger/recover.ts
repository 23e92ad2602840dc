import { prunedUntil } from '../journal/prune.ts'
import { ask, skipLocked, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { giveHoldsBack } from './give-holds-back.ts'
import { dropAll, dropLapsed, join, renew } from './replicas.ts'
import { book } from './settle.ts'
import { sweep } from './sweep.ts'

export type Recovery = {
  /** Of whoever recovers. */
  readonly epoch: number
  /** Charges with lines: ended at what was delivered or about to be. */
  readonly settled: number
  /** Charges without: hold given back, a person decides. */
  readonly toReview: number
}

const stopped = 'gateway_stopped'
/** Rows of one statement. */
const together = 1_000

/** Of a charge whose process is gone or was silent for too long. */
const isLeft = `NOT EXISTS (SELECT 1 FROM replica WHERE replica.owner = charge.owner AND replica.epoch = charge.epoch)`

/**
 * Begins a new epoch and ends every charge that a process which is gone has left reserved. Run inside one transaction before
 * the first request is served. `isAlone`: nobody else can be at work, so every lease is of a process that is gone.
 */
export function* begin(identity: Omit<WriterIdentity, 'epoch'>, at: number, isAlone: boolean): QueryProgram<Recovery> {
  if (isAlone) yield* dropAll()
  else yield* dropLapsed(at)
  const epoch = yield* join(identity, at, isAlone)
  const recovery = yield* endLeft({ ...identity, epoch }, at)
  yield* sweep(at)
  return recovery
}

/** Ends what an earlier gateway left, where nobody bills: before the workers of the next one do. */
export function* clear(chain: string, at: number): QueryProgram<Recovery> {
  yield* dropAll()
  const recovery = yield* endLeft({ owner: '', host: '', epoch: 0, chain }, at)
  yield* sweep(at)
  return recovery
}

/** Says that this process is there, and ends what others have left. Run every few seconds. */
export function* beat(identity: WriterIdentity, at: number): QueryProgram<Recovery> {
  const { epoch, lapsed } = yield* renew(identity, at)
  const [left] = yield ask(`SELECT id FROM charge WHERE state = 'reserved' AND ${isLeft} LIMIT 1`)
  if (lapsed === 0 && !left) return { epoch, settled: 0, toReview: 0 }
  return yield* endLeft({ ...identity, epoch }, at)
}

/** Running it again finds nothing to do. */
function* endLeft(identity: WriterIdentity, at: number): QueryProgram<Recovery> {
  yield* writeMissingLogs(at)
  const toReview = yield* reviewEmpty(at)
  const settled = yield* settleLined(identity, at)
  return { epoch: identity.epoch, settled, toReview }
}

function* reviewEmpty(at: number): QueryProgram<number> {
  let all = 0
  for (;;) {
    const charges = yield ask(
      `UPDATE charge SET state = 'needs_review', reason = ?, ended_at = ? WHERE id IN
         (SELECT id FROM charge WHERE state = 'reserved' AND line_count = 0 AND ${isLeft} LIMIT ${together} ${skipLocked})
       RETURNING key_id, hold`,
      stopped,
      at,
    )
    yield* giveHoldsBack(charges)
    all += charges.length
    if (charges.length < together) return all
  }
}

function* settleLined(identity: WriterIdentity, at: number): QueryProgram<number> {
  let all = 0
  for (;;) {
    const charges = yield ask(
      `UPDATE charge SET state = 'settled', reason = ?, ended_at = ? WHERE id IN
         (SELECT id FROM charge WHERE state = 'reserved' AND line_count > 0 AND ${isLeft} LIMIT ${together} ${skipLocked})
       RETURNING *`,
      stopped,
      at,
    )
    const inOrder = charges.toSorted((a, b) => (text(a, 'key_id') < text(b, 'key_id') ? -1 : 1))
    for (const charge of inOrder) {
      yield* book(identity, charge, { actor: 'recovery', heldNow: whole(charge, 'hold'), at })
    }
    all += charges.length
    if (charges.length < together) return all
  }
}

/**
 * Log rows are queued, so a crash loses the last ones; those of charged requests are written from their charges.
 * The queue holds seconds, not hours: ended charges older than the last 5,000 had their rows written long ago. Rows that
 * were deleted for their age stay away, unless a clock that was ahead has said so.
 */
function* writeMissingLogs(at: number): QueryProgram<void> {
  const copy = `INSERT INTO log (id, time, key_id, user_name, group_name, model, operation, outcome, error_code,
      duration_ms, upstream, config_revision, forwarded, dropped)
    SELECT id, created_at, key_id, user_name, group_name, model, operation,
      CASE delivery WHEN 'confirmed' THEN 'answered' ELSE 'upstream_cut' END,
      CASE delivery WHEN 'confirmed' THEN NULL ELSE '${stopped}' END,
      coalesce(ended_at - created_at, 0), upstream, config_revision, '[]', '[]'
    FROM charge WHERE NOT EXISTS (SELECT 1 FROM log WHERE log.id = charge.id) AND ${isLeft}`
  const once = 'ON CONFLICT (id) DO NOTHING'
  yield ask(`${copy} AND state = 'reserved' ${once}`)
  yield ask(
    `${copy} AND state <> 'reserved' AND id >=
    coalesce((SELECT id FROM charge ORDER BY id DESC LIMIT 1 OFFSET 5000), '')
    AND created_at >= coalesce((SELECT value FROM meta WHERE name = '${prunedUntil}' AND value <= ?), 0) ${once}`,
    at,
  )
}
