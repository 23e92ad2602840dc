import { StorageError } from '../errors.ts'
import type { Connection } from './connect.ts'
import { migrations } from '../migrations/list.ts'

/**
 * Brings the schema up to this version in one transaction: a process killed half-way leaves the file as it was.
 * @throws StorageError `storage_newer` when a newer version has been here.
 */
export function migrate(connection: Connection, path: string): void {
  if (isCurrent(connection, path)) return
  connection.transact(() => {
    // Another process may have been faster.
    for (const statements of migrations.slice(readVersion(connection))) {
      for (const statement of statements) connection.db.exec(statement)
    }
    connection.db.exec(`PRAGMA user_version = ${migrations.length}`)
  })
}

/** @throws StorageError `storage_newer` */
export function isCurrent(connection: Connection, path: string): boolean {
  const found = readVersion(connection)
  const known = migrations.length
  if (found > known) throw new StorageError('storage_newer', { path, found, known })
  return found === known
}

function readVersion(connection: Connection): number {
  const [row] = connection.all({ sql: 'PRAGMA user_version', params: [] })
  return Number(row?.['user_version'] ?? 0)
}
