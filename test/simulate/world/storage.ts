import { closeSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync, StatementSync, type SQLInputValue } from 'node:sqlite'
import type { Random } from './random.ts'
import { RecordedDisk } from './recorded.ts'
import { unfoldSegments } from './unfold.ts'

/** What is wrong with the disk just now. */
export type Disk = {
  /** No commit finds room. */
  full: boolean
  /** The n-th statement of a change from now on fails; undefined for none. */
  failStatement: number | undefined
  /** The n-th commit of a change from now on finds no room; undefined for none. */
  failCommit: number | undefined
  /** Share of the look-ups that fail. */
  failReads: number
  /** A commit takes up to so many milliseconds more. */
  slowMs: number
  /** Share of the groups before which, or behind whose commit, the writer dies. */
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
  /** Told of each fault. */
  onFault: () => void = () => undefined
  readonly #random: Random
  readonly #note: (fault: string) => void
  readonly #writing = new WeakSet<DatabaseSync>()
  readonly #owners = new WeakMap<StatementSync, DatabaseSync>()
  readonly #recorded = new Map<string, RecordedDisk>()
  readonly #levels = new WeakMap<DatabaseSync, number>()
  /** Frames of the log behind which SQLite carries them into the database; its own 1,000 by default. */
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

  /** From now on what SQLite asks of the disk for this database is recorded. */
  watch(path: string): RecordedDisk {
    const recorded = new RecordedDisk(path)
    this.#recorded.set(resolve(path), recorded)
    return recorded
  }

  recordOf(path: string): RecordedDisk | undefined {
    return this.#recorded.get(resolve(path))
  }

  /** Rows that a query of the test's own finds, past every fault and past the gateway's code. */
  look(path: string, sql: string, ...params: SQLInputValue[]): readonly Row[] {
    const reader = this.#reader
    if (reader) return this.past(() => reader.prepare(sql).all(...params) as Row[])
    return this.looking(path, () => this.look(path, sql, ...params))
  }

  /** Looks of one moment, over one connection: it is gone before the gateway goes on, whose log ends with its last reader. */
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

  /** What has been committed so far, in a word: it changes with each commit, and is undefined where nobody has the database open. */
  committed(path: string): string | undefined {
    try {
      return readHead(`${path}-shm`)
    } catch {
      return undefined
    }
  }

  /** Does something of the test's own, which no fault meets. */
  past<T>(act: () => T): T {
    this.#bypassed = true
    try {
      return act()
    } finally {
      this.#bypassed = false
    }
  }

  /** Around `DatabaseSync.exec`. */
  exec(exec: () => unknown, db: DatabaseSync, sql: string): unknown {
    if (this.#bypassed) return exec()
    const isWrite = this.#beforeExec(db, sql)
    const result = exec()
    if (isWrite) this.#afterExec(db, sql)
    return result
  }

  /** Around `DatabaseSync.close`. */
  close(close: () => unknown, db: DatabaseSync): unknown {
    const recorded = this.#bypassed ? undefined : this.recordOf(db.location() ?? '')
    const level = recorded && this.#levelOf(db)
    const result = close()
    if (recorded && level !== undefined) recorded.record(level)
    return result
  }

  /** @returns whether it may change a file */
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

  /** Before `StatementSync.all`. @throws what SQLite would */
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

/** Puts a disk under `node:sqlite`, in the place of one that was there before. */
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

/** Puts something around a method of every object of a class. */
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

/** The head of the log's index: the count of its changes, its frames with their sums, its salt (sqlite.org/walformat.html). */
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
