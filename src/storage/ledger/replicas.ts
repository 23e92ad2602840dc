import type { GatewaySeen } from '../../domain/index.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'

/** The duration of a lease. */
const leaseMs = 30_000
/** The interval at which a billing process renews its lease. */
export const beatMs = 5_000
/** The lease of a process that holds the file's lock: only the next holder of the lock ends it. */
const endless = Number.MAX_SAFE_INTEGER

/** A billing process, before it has an epoch. */
export type Replica = {
  /** Unique for each open storage. */
  readonly owner: string
  /** Its host name, for messages. */
  readonly host: string
}

/**
 * Takes the next epoch and a lease. `at` is the time by the storage's clock; PostgreSQL uses its own. `isAlone`: no
 * other process can be running, so the lease needs no renewal.
 */
export function* join({ owner, host }: Replica, at: number, isAlone: boolean): QueryProgram<number> {
  const [meta] = yield ask(`UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value`)
  if (!meta) throw new Error('the storage has lost its epoch')
  const epoch = whole(meta, 'value')
  yield ask(
    `INSERT INTO replica (owner, epoch, host, started_at, lease_until)
       VALUES (?, ?, ?, now_ms(?), CASE WHEN ? = 1 THEN ${endless} ELSE now_ms(?) + ${leaseMs} END)
     ON CONFLICT (owner) DO UPDATE SET epoch = excluded.epoch, started_at = excluded.started_at,
       lease_until = excluded.lease_until`,
    owner,
    epoch,
    host,
    at,
    isAlone ? 1 : 0,
    at,
  )
  return epoch
}

/**
 * Extends the lease of this process, and ends expired leases. A process that was silent for too long has lost its
 * charges and begins again, in a new epoch. If a process finds its own lease expired, either no process has checked
 * leases, or the clock has jumped: it then extends every lease, and processes that have really ended do not renew
 * theirs.
 */
export function* renew(
  identity: WriterIdentity,
  at: number,
): QueryProgram<{ readonly epoch: number; readonly lapsed: number }> {
  const [own] = yield ask(
    'SELECT CASE WHEN lease_until < now_ms(?) THEN 1 ELSE 0 END AS is_over FROM replica WHERE owner = ? AND epoch = ?',
    at,
    identity.owner,
    identity.epoch,
  )
  if (own && whole(own, 'is_over') === 1)
    yield ask(`UPDATE replica SET lease_until = now_ms(?) + ${leaseMs} WHERE lease_until < now_ms(?)`, at, at)
  // A lease from a clock that was ahead would outlive its process by the difference.
  yield ask(
    `UPDATE replica SET lease_until = now_ms(?) + ${leaseMs}
     WHERE lease_until > now_ms(?) + ${2 * leaseMs} AND lease_until < ${endless}`,
    at,
    at,
  )
  const [renewed] = yield ask(
    `UPDATE replica SET lease_until = now_ms(?) + ${leaseMs} WHERE owner = ? AND epoch = ? RETURNING epoch`,
    at,
    identity.owner,
    identity.epoch,
  )
  const epoch = renewed ? identity.epoch : yield* join(identity, at, false)
  return { epoch, lapsed: yield* dropLapsed(at) }
}

/** Whether a process has its lease. If so, no other process ends the lease before this transaction ends. */
export function* keepLease({ owner, epoch }: WriterIdentity): QueryProgram<boolean> {
  const rows = yield ask(`SELECT epoch FROM replica WHERE owner = ? AND epoch = ? ${lockRows}`, owner, epoch)
  return rows.length > 0
}

/** Ends the lease of a process that has ended, so that the next check ends the charges that it left reserved. */
export function* forget(owner: string): QueryProgram<boolean> {
  const rows = yield ask('DELETE FROM replica WHERE owner = ? RETURNING owner', owner)
  return rows.length > 0
}

/** Ends expired leases. @returns their number */
export function* dropLapsed(at: number): QueryProgram<number> {
  const rows = yield ask('DELETE FROM replica WHERE lease_until < now_ms(?) RETURNING owner', at)
  return rows.length
}

export function* dropAll(): QueryProgram<void> {
  yield ask('DELETE FROM replica')
}

/** Records the version and revision of this process, unless it has lost its lease meanwhile. */
export function* introduce(
  { owner }: Pick<WriterIdentity, 'owner'>,
  { version, revision }: { readonly version: string; readonly revision: string },
): QueryProgram<null> {
  yield ask('UPDATE replica SET version = ?, revision = ? WHERE owner = ?', version, revision, owner)
  return null
}

/** The billing processes, the longest running first. */
export function* listGateways(own: string, at: number): QueryProgram<readonly GatewaySeen[]> {
  const rows = yield ask(
    `SELECT owner, host, started_at, version, revision FROM replica WHERE lease_until >= now_ms(?) ORDER BY started_at, owner`,
    at,
  )
  return rows.map(row => ({
    owner: text(row, 'owner'),
    host: text(row, 'host'),
    startedAt: whole(row, 'started_at'),
    version: textOrNull(row, 'version'),
    revision: textOrNull(row, 'revision'),
    isOwn: text(row, 'owner') === own,
  }))
}
