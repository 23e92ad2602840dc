import { ask, type Steps } from '../query.ts'
import { whole } from '../rows.ts'
import type { Self } from '../self.ts'

/** How long a process that says nothing keeps its charges, by the database's clock. */
const leaseMs = 30_000
/** A process that bills says this often that it is there. */
export const beatMs = 5_000

/** A process that bills, before it has an epoch. */
export type Replica = {
  /** One per open storage. */
  readonly owner: string
  /** Where it runs, for people. */
  readonly host: string
}

/** Takes the next epoch and a lease. */
export function* join({ owner, host }: Replica): Steps<number> {
  const [meta] = yield ask(`UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value`)
  if (!meta) throw new Error('the storage has lost its epoch')
  const epoch = whole(meta, 'value')
  yield ask(
    `INSERT INTO replica (owner, epoch, host, started_at, lease_until) VALUES (?, ?, ?, now_ms(), now_ms() + ?)
     ON CONFLICT (owner) DO UPDATE SET epoch = excluded.epoch, started_at = excluded.started_at,
       lease_until = excluded.lease_until`,
    owner,
    epoch,
    host,
    leaseMs,
  )
  return epoch
}

/**
 * Makes the lease longer. One that was silent for too long has lost its charges and begins again, in a new epoch.
 * @returns the epoch it is in.
 */
export function* renew(self: Self): Steps<number> {
  const [own] = yield ask(
    'UPDATE replica SET lease_until = now_ms() + ? WHERE owner = ? AND epoch = ? RETURNING epoch',
    leaseMs,
    self.owner,
    self.epoch,
  )
  return own ? self.epoch : yield* join(self)
}

/** Ends the lease of a process that is gone: what it left reserved is ended by whoever looks next. */
export function* forget(owner: string): Steps<boolean> {
  const rows = yield ask('DELETE FROM replica WHERE owner = ? RETURNING owner', owner)
  return rows.length > 0
}

/** Ends the leases that have run out. @returns how many did. */
export function* dropLapsed(): Steps<number> {
  const rows = yield ask('DELETE FROM replica WHERE lease_until < now_ms() RETURNING owner')
  return rows.length
}

export function* dropAll(): Steps<void> {
  yield ask('DELETE FROM replica')
}
