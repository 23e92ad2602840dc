import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { copyMark } from '../copy/mark.ts'
import { StorageError } from '../errors.ts'
import { Connection, type ConnectOptions } from './connect.ts'
import { isBusy, isUnlike, storageFailure } from './failure.ts'
import { migrations, moves } from '../migrations/list.ts'

/**
 * Opens a file with the schema of this version. Creates the schema in a new file; migrates a file with an older one
 * only if `isOwn`, by the process that has claimed the file: a gateway of the older version would continue to write in
 * the old form.
 * @throws StorageError `storage_older`, `storage_newer`, `storage_open`, `storage_unavailable` if there is no room for
 * the copy
 */
export function openCurrent(
  path: string,
  { isOwn, ...options }: ConnectOptions & { readonly isOwn: boolean },
): Connection {
  let connection = new Connection(path, options)
  try {
    const found = readVersion(connection)
    const known = migrations.length
    if (isCurrent(connection, path)) return connection
    if (found > 0) {
      if (!isOwn) throw new StorageError('storage_older', { path, found, known })
      connection.close()
      migrateAlone(path, options)
      connection = new Connection(path, options)
    } else migrate(connection)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/**
 * True if a command can read the file at once, without a writer that creates it.
 * @throws StorageError `storage_older`, `storage_newer`
 */
export function isReady(path: string): boolean {
  let connection: Connection | undefined
  try {
    connection = new Connection(path, { readOnly: true })
    if (isCurrent(connection, path)) return true
    const found = readVersion(connection)
    if (found > 0) throw new StorageError('storage_older', { path, found, known: migrations.length })
    return false
  } catch (error) {
    if (error instanceof StorageError) throw error
    return false
  } finally {
    connection?.close()
  }
}

/** Commands do not claim the file: only opening it exclusively proves that no other process has it open. */
function migrateAlone(path: string, options: ConnectOptions): void {
  let connection: Connection
  try {
    connection = new Connection(path, { ...options, isExclusive: true })
  } catch (error) {
    throw isBusy(error) ? new StorageError('storage_open', { path }) : error
  }
  try {
    // Another process may have been faster: its copy has the earlier state.
    if (isCurrent(connection, path)) return
    keepCopy(connection, path)
    migrateKnown(connection, path)
  } finally {
    connection.close()
  }
}

/** @throws StorageError `storage_unlike` if the tables are not those of the file's version */
function migrateKnown(connection: Connection, path: string): void {
  const found = readVersion(connection)
  try {
    migrate(connection)
  } catch (error) {
    if (!isUnlike(error)) throw error
    throw new StorageError('storage_unlike', { path, found, reason: (error as Error).message })
  }
}

/** Migrates the schema to this version in one transaction: a process killed half-way leaves the file unchanged. */
export function migrate(connection: Connection): void {
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

/**
 * Refuses to write if a newer version has changed the schema meanwhile. Must run inside the transaction that writes.
 * @throws StorageError `storage_newer`
 */
export function refuseNewer(connection: Connection, path: string): void {
  isCurrent(connection, path)
}

/**
 * Copies a file of an older version first, to `PATH.before-schema-N`, so that a downgrade is possible. Replaces the copy
 * of an earlier upgrade: a downgrade has to continue with the latest state.
 */
function keepCopy(connection: Connection, path: string): void {
  const copy = `${path}.before-schema-${migrations.length}`
  // The name is always the same: a start that is killed each time must not fill the disk with parts.
  const part = `${copy}.part`
  try {
    rmSync(part, { force: true })
    // SQLite fills an empty file; it is created here, so that no one else can read it from its first byte on.
    const file = openSync(part, 'wx', 0o600)
    connection.db.prepare('VACUUM INTO ?').run(part)
    fsyncSync(file)
    closeSync(file)
    renameSync(part, copy)
  } catch (error) {
    const reason = storageFailure(error) ?? (error instanceof Error ? error.message : String(error))
    throw new StorageError('storage_unavailable', {
      reason: `no copy of it could be made before its schema changes: ${reason}`,
    })
  } finally {
    rmSync(part, { force: true, recursive: true })
  }
}

/** The schema version of a file; 0 if it does not have this schema. */
export function versionOf(path: string): number {
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
