import { useChargeId } from '../../plugin-api/image-tool.ts'
import { lostOfLogRow } from '../../domain/shapes/log-row.ts'
import type { LogRow } from '../../domain/index.ts'
import { prunedUntil } from '../journal/prune.ts'
import { adoptJobs } from '../jobs.ts'
import { mergeCopied } from '../accounts/merge-parts.ts'
import { lockAccounts, payerColumns } from '../accounts/levels.ts'
import { lockKeys } from '../keys/lock.ts'
import { ask, type Row, skipLocked, type QueryProgram } from '../query.ts'
import { findMissing } from '../log-batches/missing.ts'
import { writeRows } from '../log-batches/write.ts'
import { text, whole, wholeOrNull } from '../rows.ts'
import { readSound } from '../charge-batches/find.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { afterAll } from '../charge-batches/time-bounds.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { noteZone } from './budget-zone.ts'
import { releaseHolds } from './release-holds.ts'
import type { Recovery } from './recovery.ts'
import { dropAll, dropLapsed, join, renew } from './replicas.ts'
import { bookAll } from './settle.ts'
import { sweep } from './sweep.ts'

const stopped = 'gateway_stopped'
/** The number of rows in one statement. */
const together = 1_000

/** The number of charges that are checked: those that ended last. */
const lookedAt = 5_000

/**
 * Serialises recoveries: two processes that find the same missing rows would both write them, so the second waits for
 * this row.
 */
const oneAtATime = `INSERT INTO meta (name, value) VALUES ('recoveries', 1)
  ON CONFLICT (name) DO UPDATE SET value = meta.value + 1`

const batchesTogether = 64
const lastBatches = `SELECT s.*, r.epoch AS alive FROM segment s
  LEFT JOIN replica r ON r.owner = s.owner AND r.epoch = s.epoch WHERE s.last_id < ? ORDER BY s.last_id DESC LIMIT ${batchesTogether}`

/** Condition on a charge: its process has ended or was silent for too long. */
const isLeft = `NOT EXISTS (SELECT 1 FROM replica WHERE replica.owner = charge.owner AND replica.epoch = charge.epoch)`
/** Condition: no process continues the charge. A running job ends its own charge. */
const isOver = `${isLeft} AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = charge.id AND job.state = 'running')`

/**
 * The condition is safe, because `JSON.stringify` writes rules, and escapes the quotes of this text inside other
 * texts.
 */
const buysNothing = `rule LIKE '%"nothingBought":true%'`

/**
 * Begins a new epoch and ends every reserved charge of an ended process. Must run inside one transaction before the
 * first request is served. `isAlone`: no other process can be running, so every lease belongs to an ended process.
 */
export function* begin(identity: Omit<WriterIdentity, 'epoch'>, at: number, isAlone: boolean): QueryProgram<Recovery> {
  if (isAlone) yield* dropAll()
  else yield* dropLapsed(at)
  const epoch = yield* join(identity, at, isAlone)
  yield* noteZone(identity.zone, at)
  const recovery = yield* endLeft({ ...identity, epoch }, at)
  yield* mergeCopied(identity, at)
  yield* sweep(identity, at)
  return recovery
}

/** Ends the charges that an earlier gateway left, before the workers of the next gateway begin to bill. */
export function* clear(
  self: Pick<WriterIdentity, 'chain' | 'part' | 'zone' | 'thresholds'>,
  at: number,
): QueryProgram<Recovery> {
  yield* dropAll()
  yield* noteZone(self.zone, at)
  const recovery = yield* endLeft({ owner: '', host: '', epoch: 0, ...self }, at)
  yield* mergeCopied(self, at)
  yield* sweep(self, at)
  return recovery
}

/** Renews the lease of this process, and ends charges that other processes have left. Runs every few seconds. */
export function* beat(identity: WriterIdentity, at: number): QueryProgram<Recovery> {
  const { epoch, lapsed } = yield* renew(identity, at)
  const [left] = yield ask(`SELECT id FROM charge WHERE state = 'reserved' AND ${isLeft} LIMIT 1`)
  if (lapsed === 0 && !left) return { epoch, settled: 0, voided: 0, toReview: 0 }
  return yield* endLeft({ ...identity, epoch }, at)
}

/** Ends charges that other processes have left. A second run changes nothing. */
function* endLeft(identity: WriterIdentity, at: number): QueryProgram<Recovery> {
  // A process that recovers for others takes no jobs: they wait for the first worker.
  if (identity.owner !== '') yield* adoptJobs(identity)
  yield* writeMissingLogs(at)
  yield* lockLeft()
  const voided = yield* endWithoutItems('voided', `AND ${buysNothing}`, at)
  const toReview = yield* endWithoutItems('needs_review', '', at)
  const settled = yield* settleLined(identity, at)
  return { epoch: identity.epoch, settled, voided, toReview }
}

/**
 * Locks keys and accounts of all these charges in the common order, so that ending the first one does not lock out of
 * order.
 */
function* lockLeft(): QueryProgram<void> {
  const left = yield ask(`SELECT ${payerColumns} FROM charge WHERE state = 'reserved' AND ${isOver}`)
  if (left.length < 2) return
  yield* lockKeys(left.map(charge => text(charge, 'key_id')))
  yield* lockAccounts(left)
}

/** Ends charges without items, and releases their holds. */
function* endWithoutItems(state: 'voided' | 'needs_review', which: string, at: number): QueryProgram<number> {
  let all = 0
  for (;;) {
    const charges = yield ask(
      `UPDATE charge SET state = ?, reason = ?, ended_at = ? WHERE id IN
         (SELECT id FROM charge WHERE state = 'reserved' AND line_count = 0 ${which} AND ${isOver}
          LIMIT ${together} ${skipLocked})
       RETURNING ${payerColumns}, hold`,
      state,
      stopped,
      at,
    )
    yield* releaseHolds(charges)
    all += charges.length
    if (charges.length < together) return all
  }
}

function* settleLined(identity: WriterIdentity, at: number): QueryProgram<number> {
  let all = 0
  for (;;) {
    const charges = yield ask(
      `UPDATE charge SET state = 'settled', reason = ?, ended_at = ? WHERE id IN
         (SELECT id FROM charge WHERE state = 'reserved' AND line_count > 0 AND ${isOver} LIMIT ${together} ${skipLocked})
       RETURNING *`,
      stopped,
      at,
    )
    const ended = charges.map(charge => ({ charge, heldNow: whole(charge, 'hold'), at }))
    yield* bookAll(identity, ended, 'recovery', at)
    all += charges.length
    if (charges.length < together) return all
  }
}

/**
 * Writes missing log rows. Log rows are queued, so a crash loses the last ones; rows of charged requests are written
 * from their charges. The queue holds seconds, not hours, so the rows of charges before the last 5,000 were written
 * long ago. Rows deleted for their age stay deleted, unless a clock that was ahead caused it.
 */
function* writeMissingLogs(at: number): QueryProgram<void> {
  yield ask(oneAtATime)
  const left = `SELECT id, created_at, ended_at, key_id, user_name, group_name, model, operation, delivery, upstream,
    config_revision FROM charge WHERE ${isLeft}`
  yield* writeMissing((yield ask(`${left} AND state = 'reserved'`)).map(logOfCharge))
  const ended = yield ask(
    `${left} AND state <> 'reserved' AND id >=
    coalesce((SELECT id FROM charge ORDER BY id DESC LIMIT 1 OFFSET ${lookedAt}), '')
    AND created_at >= coalesce((SELECT value FROM meta WHERE name = '${prunedUntil}' AND value <= ?), 0)`,
    at,
  )
  yield* writeMissing(ended.map(logOfCharge))
  yield* writeMissingOfBatches(at)
}

/** The same for the last charges in batches. */
function* writeMissingOfBatches(at: number): QueryProgram<void> {
  const [pruned] = yield ask(`SELECT value FROM meta WHERE name = '${prunedUntil}' AND value <= ?`, at)
  const since = pruned ? whole(pruned, 'value') : 0
  let before = afterAll
  for (let looked = 0; looked < lookedAt; ) {
    const batches = yield ask(lastBatches, before)
    const left = batches.filter(row => row['alive'] === null)
    // A gateway must start even with a damaged charge batch; an audit reports it.
    const booked = left.flatMap(row => readSound(row) ?? []).filter(one => one.at >= since)
    yield* writeMissing(booked.map(logOfBooked))
    looked += batches.reduce((sum, row) => sum + whole(row, 'count'), 0)
    const last = batches.at(-1)
    if (!last || batches.length < batchesTogether) return
    before = text(last, 'last_id')
  }
}

function* writeMissing(rows: readonly LogRow[]): QueryProgram<void> {
  // A charge of use besides images shares the log row of the images' charge.
  yield* writeRows(yield* findMissing(rows.filter(({ id }) => !id.endsWith(useChargeId('')))))
}

function logOfCharge(charge: Row): LogRow {
  const [createdAt, endedAt] = [whole(charge, 'created_at'), wholeOrNull(charge, 'ended_at')]
  return {
    id: text(charge, 'id'),
    time: createdAt,
    keyId: text(charge, 'key_id'),
    user: text(charge, 'user_name'),
    group: text(charge, 'group_name'),
    model: text(charge, 'model'),
    operation: text(charge, 'operation'),
    upstream: text(charge, 'upstream'),
    configRevision: text(charge, 'config_revision'),
    durationMs: endedAt === null ? 0 : endedAt - createdAt,
    ...outcomeOf(text(charge, 'delivery')),
  }
}

function logOfBooked({ id, payer, terms, at }: Booked): LogRow {
  return {
    id,
    time: at,
    keyId: payer.key_id,
    user: payer.user_name,
    group: payer.group_name,
    model: terms.model,
    operation: terms.operation,
    upstream: terms.upstream,
    configRevision: terms.config_revision,
    durationMs: 0,
    ...outcomeOf(terms.delivery),
  }
}

/** The outcome of a request, as far as its charge shows it. */
function outcomeOf(delivery: string) {
  const isWhole = delivery === 'confirmed'
  return {
    ...lostOfLogRow,
    outcome: isWhole ? 'answered' : 'upstream_cut',
    errorCode: isWhole ? null : stopped,
  } as const
}
