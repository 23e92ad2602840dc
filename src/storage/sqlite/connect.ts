import { statSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Query, Rows, QueryProgram } from '../query.ts'

/** How long a connection waits for another process's write. */
export const busyMs = 5_000

export type ConnectOptions = {
  readonly readOnly?: boolean
  /** Milliseconds; 5,000 by default. */
  readonly busyMs?: number
  /** The file never grows beyond it; undefined for no bound. */
  readonly bytesMax?: number
  /** No other connection may be open, and none is opened until this one closes. */
  readonly isExclusive?: boolean
}

/** A connection that caches its prepared statements. */
export class Connection {
  readonly db: DatabaseSync
  readonly #path: string
  readonly #busyMs: number
  readonly #file: { readonly dev: number; readonly ino: number }
  readonly #prepared = new Map<string, StatementSync>()

  constructor(path: string, options: ConnectOptions = {}) {
    const readOnly = options.readOnly ?? false
    this.db = new DatabaseSync(path, { readOnly, timeout: options.busyMs ?? busyMs, enableForeignKeyConstraints: true })
    try {
      this.#prepare(readOnly, options)
      this.#file = statSync(path)
    } catch (error) {
      // An open connection would keep its lock.
      this.db.close()
      throw error
    }
    this.#path = path
    this.#busyMs = options.busyMs ?? busyMs
  }

  #prepare(readOnly: boolean, options: ConnectOptions): void {
    this.db.exec('PRAGMA trusted_schema = OFF')
    // The clock of leases is the storage's clock. PostgreSQL has a function of this name that returns its own time.
    this.db.function('now_ms', at => BigInt(Math.trunc(Number(at))))
    if (!readOnly) {
      // Must precede the first access to the file, which takes the lock and keeps it.
      if (options.isExclusive === true) this.db.exec('PRAGMA locking_mode = EXCLUSIVE')
      // FULL: a commit is on the disk before it is reported. The write-ahead log is truncated to 64 MiB.
      this.db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864')
      // A cache of up to 32 MiB of pages: with a million keys, each key in use is on its own page.
      this.db.exec('PRAGMA cache_size = -32768')
      if (options.bytesMax !== undefined) this.db.exec(`PRAGMA max_page_count = ${Math.ceil(options.bytesMax / 4096)}`)
    }
  }

  /** SQLite continues to write to a deleted file; those rows would never be read. */
  isFileThere(): boolean {
    const file = statSync(this.#path, { throwIfNoEntry: false })
    return file !== undefined && file.ino === this.#file.ino && file.dev === this.#file.dev
  }

  all({ sql, params }: Query): Rows {
    let statement = this.#prepared.get(sql)
    if (!statement) this.#prepared.set(sql, (statement = this.db.prepare(sql)))
    return statement.all(...params) as Rows
  }

  /** Runs steps synchronously. The caller owns the transaction. */
  run<T>(steps: QueryProgram<T>): T {
    let next = steps.next()
    while (next.done !== true) next = steps.next(this.all(next.value))
    return next.value
  }

  /** Runs read-only work on one snapshot. */
  snapshot<T>(steps: QueryProgram<T>): T {
    this.db.exec('BEGIN')
    try {
      return this.run(steps)
    } finally {
      this.db.exec('COMMIT')
    }
  }

  /** Runs work in a transaction that commits or leaves nothing. */
  transact<T>(work: () => T): T {
    this.db.exec('BEGIN IMMEDIATE')
    try {
      const value = work()
      this.db.exec('COMMIT')
      return value
    } catch (error) {
      this.rollBack()
      throw error
    }
  }

  /** The same, and overwrites deleted data in the file and, unless a reader uses it, in the log. */
  transactErasing<T>(work: () => T): T {
    this.db.exec('PRAGMA secure_delete = ON')
    try {
      const value = this.transact(work)
      this.#emptyLog()
      return value
    } finally {
      this.db.exec('PRAGMA secure_delete = OFF')
    }
  }

  /** Does not wait: if a reader uses the log, later commits overwrite it. */
  #emptyLog(): void {
    this.db.exec('PRAGMA busy_timeout = 0')
    try {
      this.db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // The transaction is committed even if this fails.
    } finally {
      this.db.exec(`PRAGMA busy_timeout = ${this.#busyMs}`)
    }
  }

  rollBack(): void {
    // A full disk ends the transaction by itself.
    if (this.db.isTransaction) this.db.exec('ROLLBACK')
  }

  close(): void {
    this.#prepared.clear()
    if (this.db.isOpen) this.db.close()
  }
}
