import type { Log } from '../plugin-api/index.ts'
import type { Clock, Ids } from '../util/index.ts'
import type { CommitWatch } from './watch-commits.ts'

export type StorageOptions = {
  readonly clock: Clock
  readonly log: Log
  /**
   * `gateway`: a process that bills, of many on PostgreSQL, alone on a file of SQLite, which it claims. It alone migrates a
   * database that has an older schema; the other two create a new one, and refuse an older one (`storage_older`).
   * `worker`: one of several processes of one gateway, which has claimed the file (`claimStorage`) before it starts them.
   * `tool`: a command next to them.
   */
  readonly role: 'gateway' | 'worker' | 'tool'
  /** A unique name by which a worker's lease is ended when it dies (`Claim.forget`); made up by default. */
  readonly owner?: string
  /** The time zone by whose days and months budgets go; UTC by default. */
  readonly timeZone?: string
  /** Percents of a budget at which an event is written; 80 and 100 by default. */
  readonly thresholds?: readonly number[]
  /** Makes its ids; ones of its own by default. */
  readonly ids?: Ids
  /** Rows of a page of the log that is bound; 4,096 by default. */
  readonly logPageRows?: number | undefined
  /** Called for each change that a caller waited for, once it is committed or is not. */
  readonly onCommit?: CommitWatch
  /** Called with the older processes that a migration waits for, when they change and from time to time; logs them by default. */
  readonly onWait?: OnWait | undefined
}

/** Processes of an older version, each as people know it. */
export type OnWait = (waitsFor: readonly string[]) => void

/** What the process that starts workers keeps of a storage while they run. */
export type Claim = {
  /** A worker is gone: what it left open is ended by the others within seconds. By the `owner` that it opened with. */
  forget(this: void, owner: string): Promise<void>
  /** Lets another gateway have it. Workers have to be gone by then. */
  release(this: void): Promise<void>
}

/** Versions of a schema, before and after; 0 where there was none. */
export type Migration = { readonly from: number; readonly to: number }

/** What there is at a storage's address, found without changing anything. */
export type GroupHeld = { readonly name: string; readonly users: number; readonly keys: number }

export type StorageState = {
  /** False where a start would make it. */
  readonly exists: boolean
  /** Groups in use: people who may use them, and keys that name them. */
  readonly groups: readonly GroupHeld[]
  /** The schema's version there, and this program's. */
  readonly schema: { readonly found: number; readonly known: number }
  /** Why it cannot be written; undefined when it can. */
  readonly unwritable: string | undefined
  /** By how much its clock is before ours; 0 where they are one. */
  readonly skewMs: number
}
