import type { Log } from '../plugin-api/index.ts'
import type { Clock, Ids } from '../util/index.ts'
import type { CommitWatch } from './watch-commits.ts'

export type StorageOptions = {
  readonly clock: Clock
  readonly log: Log
  /**
   * `gateway`: a billing process, one of many on PostgreSQL, alone on an SQLite file, which it claims. Only it migrates
   * a database with an older schema; the other two create a new one, and refuse an older one (`storage_older`).
   * `worker`: one of several processes of one gateway, which has claimed the file (`claimStorage`) before it starts
   * them. `tool`: a command next to them.
   */
  readonly role: 'gateway' | 'worker' | 'tool'
  /** A unique name by which a worker's lease is ended when it dies (`Claim.forget`); random by default. */
  readonly owner?: string
  /** The time zone of budget days and months; UTC by default. */
  readonly timeZone?: string
  /** Percents of a budget at which an event is written; 80 and 100 by default. */
  readonly thresholds?: readonly number[]
  /** Creates its ids; its own by default. */
  readonly ids?: Ids
  /** Rows of a bound page of the log; 4,096 by default. */
  readonly logPageRows?: number | undefined
  /** Called for each change that a caller waited for, once it is committed or is not. */
  readonly onCommit?: CommitWatch
  /**
   * Called with the older processes that a migration waits for, when they change and from time to time; logs them by
   * default.
   */
  readonly onWait?: OnWait | undefined
}

/** Processes of an older version, each described for people. */
export type OnWait = (waitsFor: readonly string[]) => void

/** The claim of the process that starts workers, while they run. */
export type Claim = {
  /** A worker is gone: the others end what it left open within seconds. By the `owner` that it opened with. */
  forget(this: void, owner: string): Promise<void>
  /** Releases the storage for another gateway. Workers have to be gone by then. */
  release(this: void): Promise<void>
}

/** Versions of a schema, before and after; 0 where there was none. */
export type Migration = { readonly from: number; readonly to: number }

/** The state of a storage's address, found without changing anything. */
export type GroupHeld = { readonly name: string; readonly users: number; readonly keys: number }

export type StorageState = {
  /** False if a start would create it. */
  readonly exists: boolean
  /** Groups in use: of people who may use them, and of keys that name them. */
  readonly groups: readonly GroupHeld[]
  /** The schema's version there, and this program's. */
  readonly schema: { readonly found: number; readonly known: number }
  /** Why it cannot be written; undefined if it can. */
  readonly unwritable: string | undefined
  /** By how much its clock is ahead of ours; 0 if they are one. */
  readonly skewMs: number
}
