import { closeSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync, StatementSync, type SQLInputValue } from 'node:sqlite'
import type { Random } from './random.ts'
import { RecordedDisk } from './recorded.ts'
import { unfoldSegments } from './unfold.ts'

/** The current faults of the disk. */
export type Disk = {
  /** Whether every commit fails because the disk is full. */
  full: boolean
  /** The n-th changing statement from now on fails; undefined for none. */
  failStatement: number | undefined
  /** The n-th commit of a change from now on fails because the disk is full; undefined for none. */
  failCommit: number | undefined
  /** Share of the reads that fail. */
  failReads: number
  /** A commit takes up to this many additional milliseconds. */
  slowMs: number
  /** Share of the groups before which, or after whose commit, the writer dies. */
  dieBefore: number
  dieAfter: number
}

export const soundDisk: Disk = {
  full: false,
  failStatement: undefined,
  failCommit: undefined,
  failReads: 0,
  slowMs: 0,
  dieBefore: 0,
  dieAfter: 0,
}

const indexHeadBytes = 48

export type Row = { readonly [column: string]: string | number | null }

/** The disk under every database of this process. */
export class FaultyDisk {
  readonly now: Disk = { ...soundDisk }
  /** Called for each fault. */
  onFault: () => void = () => undefined
  readonly #random: Random
  readonly #note: (fault: string) => void
  readonly #writing = new WeakSet<DatabaseSync>()
  readonly #owners = new WeakMap<StatementSync, DatabaseSync>()
  readonly #recorded = new Map<string, RecordedDisk>()
  readonly #levels = new WeakMap<DatabaseSync, number>()
  /** Number of frames in the log before SQLite runs a checkpoint; its own 1,000 by default. */
  checkpointEvery: number | undefined
  #bypassed = false
  #reader: DatabaseSync | undefined

  constructor(random: Random, note: (fault: string) => void) {
    this.#random = random
    this.#note = fault => {
      note(fault)
      this.onFault()
    }
  }

  mend(): void {
    Object.assign(this.now, soundDisk)
  }

  /** From now on SQLite's disk operations for this database are recorded. */
  watch(path: string): RecordedDisk {
    const recorded = new RecordedDisk(path)
    this.#recorded.set(resolve(path), recorded)
    return recorded
  }

  recordOf(path: string): RecordedDisk | undefined {
    return this.#recorded.get(resolve(path))
  }

  /** Rows of a query of the test's own, bypassing every fault and the gateway's code. */
  look(path: string, sql: string, ...params: SQLInputValue[]): readonly Row[] {
    const reader = this.#reader
    if (reader) return this.past(() => reader.prepare(sql).all(...params) as Row[])
    return this.looking(path, () => this.look(path, sql, ...params))
  }

  /**
   * Several reads at one moment, over one connection. It closes before the gateway continues, because the last reader
   * deletes the log.
   */
  looking<T>(path: string, act: () => T): T {
    const reader = this.past(() => new DatabaseSync(path, { readOnly: true }))
    this.past(() => unfoldSegments(reader))
    this.#reader = reader
    try {
      return act()
    } finally {
      this.#reader = undefined
      this.past(() => reader.close())
    }
  }

  /**
   * A token for the commits so far: it changes with each commit, and is undefined if no process has the database open.
   */
  committed(path: string): string | undefined {
    try {
      return readHead(`${path}-shm`)
    } catch {
      return undefined
    }
  }

  /** Runs an action of the test's own, without faults. */
  past<T>(act: () => T): T {
    this.#bypassed = true
    try {
      return act()
    } finally {
      this.#bypassed = false
    }
  }

  /** Wraps `DatabaseSync.exec`. */
  exec(exec: () => unknown, db: DatabaseSync, sql: string): unknown {
    if (this.#bypassed) return exec()
    const isWrite = this.#beforeExec(db, sql)
    const result = exec()
    if (isWrite) this.#afterExec(db, sql)
    return result
  }

  /** Wraps `DatabaseSync.close`. */
  close(close: () => unknown, db: DatabaseSync): unknown {
    const recorded = this.#bypassed ? undefined : this.recordOf(db.location() ?? '')
    const level = recorded && this.#levelOf(db)
    const result = close()
    if (recorded && level !== undefined) recorded.record(level)
    return result
  }

  /** @returns whether the statement may change a file */
  #beforeExec(db: DatabaseSync, sql: string): boolean {
    if (sql === 'BEGIN IMMEDIATE') this.#writing.add(db)
    if (sql !== 'COMMIT') return sql.startsWith('PRAGMA')
    if (!this.#writing.has(db)) return false
    const isLast = this.now.failCommit !== undefined && --this.now.failCommit === 0
    if (isLast) this.now.failCommit = undefined
    if (this.now.full || isLast) {
      this.#note('disk full')
      throw sqliteError(13, 'database or disk is full')
    }
    return this.#writing.delete(db)
  }

  #afterExec(db: DatabaseSync, sql: string): void {
    if (sql.startsWith('PRAGMA')) this.#levels.delete(db)
    if (sql.includes('journal_mode = WAL') && this.checkpointEvery !== undefined)
      this.past(() => db.exec(`PRAGMA wal_autocheckpoint = ${this.checkpointEvery}`))
    this.recordOf(db.location() ?? '')?.record(this.#levelOf(db))
  }

  #levelOf(db: DatabaseSync): number {
    const known = this.#levels.get(db)
    if (known !== undefined) return known
    const level = Number((db.prepare('PRAGMA synchronous').get() as Row)['synchronous'])
    this.#levels.set(db, level)
    return level
  }

  prepared(statement: StatementSync, db: DatabaseSync): void {
    this.#owners.set(statement, db)
  }

  /** Runs before `StatementSync.all`. @throws the error that SQLite would throw */
  beforeStatement(statement: StatementSync): void {
    const db = this.#owners.get(statement)
    if (this.#bypassed || !db) return
    const { now } = this
    if (db.isTransaction && this.#writing.has(db)) {
      if (now.failStatement === undefined || --now.failStatement > 0) return
      now.failStatement = undefined
      this.#note('statement fails')
      throw sqliteError(10, 'disk I/O error')
    }
    if (now.failReads === 0 || !this.#random.chance(now.failReads)) return
    this.#note('read fails')
    throw sqliteError(10, 'disk I/O error')
  }
}

let installed: FaultyDisk | undefined

/** Installs a disk under `node:sqlite`, and replaces an earlier one. */
export function installDisk(disk: FaultyDisk): void {
  if (!installed) wrapAll(() => installed ?? disk)
  installed = disk
}

function wrapAll(disk: () => FaultyDisk): void {
  wrap(DatabaseSync.prototype, 'exec', (exec, db: DatabaseSync, [sql]) => disk().exec(exec, db, sql as string))
  wrap(DatabaseSync.prototype, 'close', (close, db: DatabaseSync) => disk().close(close, db))
  wrap(DatabaseSync.prototype, 'prepare', (prepare, db: DatabaseSync) => {
    const statement = prepare() as StatementSync
    disk().prepared(statement, db)
    return statement
  })
  wrap(StatementSync.prototype, 'all', (all, statement: StatementSync) => {
    disk().beforeStatement(statement)
    return all()
  })
}

/** Wraps a method of every object of a class. */
function wrap<T extends object>(
  prototype: T,
  name: keyof T & string,
  around: (call: () => unknown, self: T, args: readonly unknown[]) => unknown,
): void {
  const original = Reflect.get(prototype, name) as (...args: unknown[]) => unknown
  const value = function (this: T, ...args: unknown[]): unknown {
    return around(() => Reflect.apply(original, this, args), this, args)
  }
  Object.defineProperty(prototype, name, { value, configurable: true, writable: true })
}

/**
 * The header of the log's index: its change counter, its frames with checksums, its salt (sqlite.org/walformat.html).
 */
function readHead(path: string): string {
  const file = openSync(path, 'r')
  try {
    const head = Buffer.alloc(indexHeadBytes)
    readSync(file, head, 0, indexHeadBytes, 0)
    return head.toString('latin1')
  } finally {
    closeSync(file)
  }
}

function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode, errstr: message })
}
