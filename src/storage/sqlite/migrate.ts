import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { copyMark } from '../copy/mark.ts'
import { StorageError } from '../errors.ts'
import type { Connection } from './connect.ts'
import { storageFailure } from './failure.ts'
import { migrations, moves } from '../migrations/list.ts'

/**
 * Brings the schema up to this version in one transaction: a process killed half-way leaves the file as it was. A file that an
 * older version has filled is copied first, to `PATH.before-schema-N`, so that one can go back; `isCopy` for what is one already.
 * @throws StorageError `storage_newer` when a newer version has been here, `storage_unavailable` when there is no room for the copy
 */
export function migrate(connection: Connection, path: string, isCopy = false): void {
  if (isCurrent(connection, path)) return
  if (!isCopy) keepCopy(connection, path)
  connection.transact(() => {
    // Another process may have been faster.
    for (const migration of migrations.slice(readVersion(connection))) {
      for (const statement of migration) connection.db.exec(statement)
      const move = moves.get(migration)
      if (move) connection.run(move())
    }
    connection.db.exec(`PRAGMA user_version = ${migrations.length}`)
  })
}

function keepCopy(connection: Connection, path: string): void {
  const version = readVersion(connection)
  const copy = `${path}.before-schema-${migrations.length}`
  if (version === 0 || existsSync(copy)) return
  const part = `${copy}.${process.pid}.part`
  try {
    rmSync(part, { force: true })
    // SQLite fills an empty file; made here, so that it is nobody else's to read from its first byte on.
    const file = openSync(part, 'wx', 0o600)
    connection.db.prepare('VACUUM INTO ?').run(part)
    fsyncSync(file)
    closeSync(file)
    // Another process may have been faster: then this is no copy of what was.
    if (versionOf(part) === version) renameSync(part, copy)
  } catch (error) {
    const reason = storageFailure(error) ?? (error instanceof Error ? error.message : String(error))
    throw new StorageError('storage_unavailable', {
      reason: `no copy of it could be made before its schema changes: ${reason}`,
    })
  } finally {
    rmSync(part, { force: true, recursive: true })
  }
}

function versionOf(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
  } finally {
    database.close()
  }
}

/** @throws StorageError `storage_newer`, `copy_unfinished` */
export function isCurrent(connection: Connection, path: string): boolean {
  const found = readVersion(connection)
  const known = migrations.length
  if (found === copyMark) throw new StorageError('copy_unfinished', { path })
  if (found > known) throw new StorageError('storage_newer', { path, found, known })
  return found === known
}

function readVersion(connection: Connection): number {
  const [row] = connection.all({ sql: 'PRAGMA user_version', params: [] })
  return Number(row?.['user_version'] ?? 0)
}
