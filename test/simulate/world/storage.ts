import { closeSync, copyFileSync, existsSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { DatabaseSync, StatementSync, type SQLInputValue } from 'node:sqlite'
import type { Random } from './random.ts'

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
  #bypassed = false

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

  /** Rows that a query of the test's own finds, past every fault and past the gateway's code. */
  look(path: string, sql: string, ...params: SQLInputValue[]): readonly Row[] {
    this.#bypassed = true
    try {
      const db = new DatabaseSync(path, { readOnly: true })
      try {
        return db.prepare(sql).all(...params) as Row[]
      } finally {
        db.close()
      }
    } finally {
      this.#bypassed = false
    }
  }

  /** Puts itself under `node:sqlite`. */
  install(): void {
    const before = (db: DatabaseSync, sql: string): void => this.#beforeExec(db, sql)
    wrap(DatabaseSync.prototype, 'exec', (exec, db: DatabaseSync, args) => {
      before(db, args[0] as string)
      return exec()
    })
    wrap(DatabaseSync.prototype, 'prepare', (prepare, db: DatabaseSync) => {
      const statement = prepare() as StatementSync
      this.#owners.set(statement, db)
      return statement
    })
    wrap(StatementSync.prototype, 'all', (all, statement: StatementSync) => {
      this.#beforeStatement(this.#owners.get(statement))
      return all()
    })
  }

  #beforeExec(db: DatabaseSync, sql: string): void {
    if (sql === 'BEGIN IMMEDIATE') this.#writing.add(db)
    if (sql !== 'COMMIT' || !this.#writing.has(db)) return
    const isLast = this.now.failCommit !== undefined && --this.now.failCommit === 0
    if (isLast) this.now.failCommit = undefined
    if (this.now.full || isLast) {
      this.#note('disk full')
      throw sqliteError(13, 'database or disk is full')
    }
    this.#writing.delete(db)
  }

  #beforeStatement(db: DatabaseSync | undefined): void {
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

function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode, errstr: message })
}

/** How far a write-ahead log has come: frames of its present round. */
export type LogMark = { readonly salt: string; readonly frames: number; readonly pageBytes: number }

/** Reads frames of a write-ahead log (sqlite.org/walformat.html). `from` saves reading again what was seen before. */
export function markLog(path: string, from?: LogMark): LogMark | undefined {
  const head = readAt(`${path}-wal`, 0, 32)
  if (!head) return undefined
  const salt = head.toString('hex', 16, 24)
  const pageBytes = head.readUInt32BE(8)
  let frames = from?.salt === salt ? from.frames : 0
  for (;;) {
    const frame = readAt(`${path}-wal`, 32 + frames * (24 + pageBytes), 24)
    if (!frame || frame.toString('hex', 8, 16) !== salt) return { salt, frames, pageBytes }
    frames++
  }
}

/** How many frames have been carried into the database: these are there for good. */
function framesCarried(path: string): number {
  return readAt(`${path}-shm`, 96, 4)?.readUInt32LE(0) ?? 0
}

/**
 * Copies a database as a power cut leaves it: what was acknowledged is there; of what was not, all, nothing, or a torn piece,
 * as `random` says.
 * @returns what became of the tail
 */
export function copyAsCrashed(
  from: string,
  to: string,
  acknowledged: LogMark | undefined,
  random: Random,
): 'whole' | 'tail cut' | 'tail torn' {
  for (const part of ['', '-wal']) if (existsSync(from + part)) copyFileSync(from + part, to + part)
  const now = markLog(from)
  const choice = random.int(3)
  if (!now || acknowledged?.salt !== now.salt) return 'whole'
  if (now.frames <= acknowledged.frames || framesCarried(from) > acknowledged.frames || choice === 0) return 'whole'
  const kept = 32 + acknowledged.frames * (24 + now.pageBytes)
  const torn = choice === 2 ? 1 + random.int((now.frames - acknowledged.frames) * (24 + now.pageBytes) - 1) : 0
  const file = openSync(`${to}-wal`, 'r+')
  ftruncateSync(file, kept + torn)
  closeSync(file)
  return torn > 0 ? 'tail torn' : 'tail cut'
}

function readAt(path: string, at: number, size: number): Buffer | undefined {
  if (!existsSync(path)) return undefined
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(size)
    return readSync(file, bytes, 0, size, at) === size ? bytes : undefined
  } finally {
    closeSync(file)
  }
}
