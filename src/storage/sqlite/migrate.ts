import { StorageError } from '../errors.ts'
import type { Connection } from './connect.ts'
import { migrations, schemaVersion } from './migrations/list.ts'

/**
 * Brings the schema up to this version in one transaction: a process killed half-way leaves the file as it was.
 * Kysely is loaded only when there is something to do.
 * @throws StorageError `storage_newer` when a newer version has been here.
 */
export async function migrate(connection: Connection, path: string): Promise<void> {
  if (isCurrent(connection, path)) return
  const [{ Migrator }, { openKysely }] = await Promise.all([import('kysely/migration'), import('./kysely.ts')])
  connection.db.exec('BEGIN IMMEDIATE')
  try {
    // Another process may have been faster.
    if (!isCurrent(connection, path)) {
      const migrator = new Migrator({ db: openKysely<unknown>(connection.db), provider: { getMigrations } })
      const { error } = await migrator.migrateToLatest()
      if (error !== undefined) throw error
      connection.db.exec(`PRAGMA user_version = ${schemaVersion}`)
    }
    connection.db.exec('COMMIT')
  } catch (error) {
    connection.rollBack()
    throw error
  }
}

/** @throws StorageError `storage_newer` */
export function isCurrent(connection: Connection, path: string): boolean {
  const [row] = connection.all({ sql: 'PRAGMA user_version', params: [] })
  const found = Number(row?.['user_version'] ?? 0)
  if (found > schemaVersion) throw new StorageError('storage_newer', { path, found, known: schemaVersion })
  return found === schemaVersion
}

async function getMigrations() {
  const loaded = await Promise.all(
    Object.entries(migrations).map(async ([name, load]) => [name, await load()] as const),
  )
  return Object.fromEntries(loaded)
}
