import { ask, type Steps } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Self } from '../self.ts'
import { book } from './settle.ts'
import { sweep } from './sweep.ts'

export type Recovery = {
  readonly epoch: number
  /** Charges with lines: ended at what was delivered or about to be. */
  readonly settled: number
  /** Charges without: hold given back, an operator decides or 24 hours do. */
  readonly toReview: number
}

const stopped = 'gateway_stopped'

/**
 * Begins a new epoch and ends every charge that an earlier one left reserved. Run inside one transaction before the
 * first request is served; running it again finds nothing to do.
 */
export function* recover(self: Omit<Self, 'epoch'>, at: number): Steps<Recovery> {
  const [meta] = yield ask(`UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value`)
  if (!meta) throw new Error('the storage has lost its epoch')
  const epoch = whole(meta, 'value')
  yield* writeMissingLogs(epoch)
  const toReview = yield* reviewEmpty(epoch, at)
  const settled = yield* settleLined({ ...self, epoch }, at)
  yield* sweep(at)
  return { epoch, settled, toReview }
}

function* reviewEmpty(epoch: number, at: number): Steps<number> {
  const left = `state = 'reserved' AND epoch < ? AND line_count = 0`
  const holds = yield ask(
    `SELECT key_id, sum(hold) AS held, count(*) AS charges FROM charge WHERE ${left} GROUP BY key_id`,
    epoch,
  )
  for (const row of holds) {
    yield ask('UPDATE key SET held = held - ? WHERE id = ?', whole(row, 'held'), text(row, 'key_id'))
  }
  yield ask(`UPDATE charge SET state = 'needs_review', reason = ?, ended_at = ? WHERE ${left}`, stopped, at, epoch)
  return holds.reduce((sum, row) => sum + whole(row, 'charges'), 0)
}

function* settleLined(self: Self, at: number): Steps<number> {
  let settled = 0
  for (;;) {
    const charges = yield ask(
      `UPDATE charge SET state = 'settled', reason = ?, ended_at = ? WHERE id IN
         (SELECT id FROM charge WHERE state = 'reserved' AND epoch < ? AND line_count > 0 LIMIT 1000) RETURNING *`,
      stopped,
      at,
      self.epoch,
    )
    for (const charge of charges) {
      yield* book(self, charge, { actor: 'recovery', heldNow: whole(charge, 'hold'), at })
    }
    settled += charges.length
    if (charges.length < 1000) return settled
  }
}

/**
 * Log rows are queued, so a crash loses the last ones; those of charged requests are written from their charges.
 * The queue holds seconds, not hours: ended charges older than the last 5,000 had their rows written long ago.
 */
function* writeMissingLogs(epoch: number): Steps<void> {
  const copy = `INSERT INTO log (id, time, key_id, user_name, group_name, model, operation, outcome, error_code,
      duration_ms, upstream, config_revision, forwarded, dropped)
    SELECT id, created_at, key_id, user_name, group_name, model, operation,
      CASE delivery WHEN 'confirmed' THEN 'answered' ELSE 'upstream_cut' END,
      CASE delivery WHEN 'confirmed' THEN NULL ELSE '${stopped}' END,
      coalesce(ended_at - created_at, 0), upstream, config_revision, '[]', '[]'
    FROM charge WHERE NOT EXISTS (SELECT 1 FROM log WHERE log.id = charge.id)`
  yield ask(`${copy} AND state = 'reserved' AND epoch < ?`, epoch)
  yield ask(`${copy} AND state <> 'reserved' AND id >=
    coalesce((SELECT id FROM charge ORDER BY id DESC LIMIT 1 OFFSET 5000), '')`)
}
