import type { Log } from '../plugin-api/index.ts'
import type { Clock, Ids } from '../util/index.ts'
import type { CommitWatch } from './watch-commits.ts'

export type StorageOptions = {
  readonly clock: Clock
  readonly log: Log
  /**
   * `gateway`: a billing process, one of many on PostgreSQL, alone on an SQLite file, which it claims. Only a gateway
   * migrates a database with an older schema; the other two create a new database, and refuse an older one
   * (`storage_older`). `worker`: one of several processes of one gateway, which has claimed the file (`claimStorage`)
   * before it starts them. `tool`: a command that runs next to them.
   */
  readonly role: 'gateway' | 'worker' | 'tool'
  /** A unique name by which a worker's lease is ended when it dies (`Claim.forget`); random by default. */
  readonly owner?: string
  /** The time zone of budget days and months; UTC by default. */
  readonly timeZone?: string
  /** Percents of a budget at which an event is written; 80 and 100 by default. */
  readonly thresholds?: readonly number[]
  /** Creates the ids of the storage; it has its own by default. */
  readonly ids?: Ids
  /** Rows of a compacted page of the log; 4,096 by default. */
  readonly logPageRows?: number | undefined
  /** Called for each change that a caller waited for, once it is committed or has failed. */
  readonly onCommit?: CommitWatch
  /**
   * Called with the older processes that a migration waits for, when they change and from time to time; logs them by
   * default.
   */
  readonly onWait?: OnWait | undefined
}

/** Processes of an older version, each as a text for messages. */
export type OnWait = (waitsFor: readonly string[]) => void

/** The claim of the process that starts workers, while they run. */
export type Claim = {
  /**
   * Reports that a worker has ended, by the `owner` that it opened with: the others end its open charges within
   * seconds.
   */
  forget(this: void, owner: string): Promise<void>
  /** Releases the storage for another gateway. Workers must have ended by then. */
  release(this: void): Promise<void>
}

/** Versions of a schema, before and after; 0 if there was none. */
export type Migration = { readonly from: number; readonly to: number }

/** The state of a storage's address, found without changing anything. */
export type GroupHeld = { readonly name: string; readonly users: number; readonly keys: number }

export type StorageState = {
  /** False if a start would create it. */
  readonly exists: boolean
  /** Groups in use: those of people who may use them, and those of keys. */
  readonly groups: readonly GroupHeld[]
  /** The version of the database's schema, and the one of this program. */
  readonly schema: { readonly found: number; readonly known: number }
  /** Why the database cannot be written; undefined if it can. */
  readonly unwritable: string | undefined
  /** Why the encoding of the database cannot store every text; absent if it can. */
  readonly encodingFault?: string | undefined
  /** By how many milliseconds its clock is ahead of this machine's; 0 if they are the same clock. */
  readonly skewMs: number
}
