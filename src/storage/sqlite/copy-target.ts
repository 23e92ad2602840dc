import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { copyMark } from '../copy/mark.ts'
import type { Cells, CopyTarget, TableLayout } from '../copy/source-and-target.ts'
import { quote } from '../copy/table-walk.ts'
import { StorageError } from '../errors.ts'
import { migrations } from '../migrations/list.ts'
import { text } from '../rows.ts'
import { Connection } from './connect.ts'
import { openingFailure } from './failure.ts'
import { migrate } from './migrate.ts'
import { takeLocation } from './location.ts'
import { runInTurns } from './run-in-turns.ts'
import { sync } from './sync.ts'

const sideFiles = ['', '-wal', '-shm']

/**
 * Creates a file for a copy. The file gets its name when the copy is kept: until then it is `PATH.copying`, which the
 * next copy replaces.
 * @throws StorageError `copy_taken`, `storage_in_use`, `storage_unavailable`
 */
export async function openTarget(wanted: string, tables: readonly TableLayout[]): Promise<CopyTarget> {
  const { path, release } = takeLocation(wanted, { isClaimed: true })
  const part = `${path}.copying`
  let connection: Connection | undefined
  async function drop(): Promise<void> {
    connection?.close()
    connection = undefined
    for (const suffix of sideFiles) await rm(part + suffix, { force: true })
    release()
  }
  async function explained(work: () => Promise<void> | void): Promise<void> {
    try {
      await work()
    } catch (error) {
      throw copyError(error, path)
    }
  }
  try {
    if (existsSync(path)) throw new StorageError('copy_taken', { path, reason: 'the file is there' })
    // SQLite would write the content of that log over the copy.
    if (existsSync(`${path}-wal`))
      throw new StorageError('copy_taken', { path, reason: `${path}-wal is there, of a file that was taken away` })
    for (const suffix of sideFiles) await rm(part + suffix, { force: true })
    // SQLite fills an empty file; it is created here, so that no one else can read it from its first byte on.
    await (await open(part, 'wx', 0o600)).close()
    const opened = (connection = new Connection(part))
    const triggers = prepare(opened, tables)
    return {
      place: path,
      holdsNul: true,
      run: steps => runInTurns(opened, steps),
      put: (table, rows) => explained(() => insert(opened, table, rows)),
      numberFrom: last =>
        explained(() =>
          opened.transact(() => {
            for (const [name, number] of last) goOnBehind(opened, name, number)
          }),
        ),
      seal: () =>
        explained(() => {
          opened.transact(() => {
            for (const trigger of triggers) opened.db.exec(trigger)
          })
          const astray = opened.all({ sql: 'PRAGMA foreign_key_check', params: [] })
          if (astray.length > 0)
            throw new StorageError('copy_unsound', { reason: `rows of ${String(astray[0]?.['table'])} point nowhere` })
        }),
      keep: () =>
        explained(async () => {
          opened.db.exec(`PRAGMA user_version = ${migrations.length}; PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)`)
          opened.close()
          connection = undefined
          await sync(part)
          if (existsSync(path)) throw new StorageError('copy_taken', { path, reason: 'the file is there by now' })
          await rename(part, path)
          await sync(dirname(path))
        }),
      close: drop,
    }
  } catch (error) {
    await drop()
    throw copyError(error, path)
  }
}

function copyError(error: unknown, path: string): unknown {
  if (error instanceof StorageError) return error
  const reason = openingFailure(error, path, 'or choose another file for the copy')
  return reason === undefined ? error : new StorageError('storage_unavailable', { reason })
}

/** Empties tables and drops triggers. @returns the statements that create the triggers again */
function prepare(connection: Connection, tables: readonly TableLayout[]): readonly string[] {
  migrate(connection)
  // All data is synced to the disk once, when the copy is kept.
  connection.db.exec(`PRAGMA user_version = ${copyMark}; PRAGMA synchronous = OFF`)
  const rows = connection.all({ sql: `SELECT name, sql FROM sqlite_master WHERE type = 'trigger'`, params: [] })
  connection.transact(() => {
    for (const row of rows) connection.db.exec(`DROP TRIGGER ${quote(text(row, 'name'))}`)
    for (const { name } of tables.toReversed()) connection.db.exec(`DELETE FROM ${quote(name)}`)
  })
  return rows.map(row => text(row, 'sql'))
}

function insert(connection: Connection, { name, columns }: TableLayout, rows: readonly Cells[]): void {
  const names = columns.map(column => quote(column.name)).join(', ')
  const sql = `INSERT INTO ${quote(name)} (${names}) VALUES (${columns.map(() => '?').join(', ')})`
  connection.transact(() => {
    for (const params of rows) connection.all({ sql, params })
  })
}

/** Tables in which SQLite numbers rows after the highest number ever used. */
function goOnBehind(connection: Connection, name: string, number: number): void {
  const sql = `SELECT 1 FROM sqlite_master WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'`
  if (connection.all({ sql, params: [name] }).length === 0) return
  connection.all({ sql: 'DELETE FROM sqlite_sequence WHERE name = ?', params: [name] })
  connection.all({ sql: 'INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', params: [name, number] })
}
