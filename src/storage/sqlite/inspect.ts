import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { copyMark } from '../copy/mark.ts'
import { StorageError } from '../errors.ts'
import { groupsHeldSql, toGroupHeld } from '../groups-held.ts'
import type { StorageState } from '../options.ts'
import { migrations } from '../migrations/list.ts'
import { Connection } from './connect.ts'

/** The files that a gateway writes, after the path of its database. */
const writtenFiles = ['', '.lock', '-wal', '-shm']

/** Inspects a database file without changing it. @throws Error if it cannot be read, or written later */
export function inspectSqlite(path: string): StorageState {
  const known = migrations.length
  const none = { exists: false, groups: [], schema: { found: 0, known }, unwritable: undefined, skewMs: 0 }
  if (path === ':memory:') return none
  // The last part makes the system refuse a file in the place of the folder.
  accessSync(`${nearestFolder(path)}/.`, constants.W_OK | constants.X_OK)
  const written = writtenFiles.filter(suffix => existsSync(path + suffix))
  for (const suffix of written) accessSync(path + suffix, constants.W_OK)
  if (!written.includes('')) return none
  const connection = new Connection(path, { readOnly: true })
  try {
    const [row] = connection.all({ sql: 'PRAGMA user_version', params: [] })
    const found = Number(row?.['user_version'] ?? 0)
    if (found === copyMark) throw new StorageError('copy_unfinished', { path })
    const groups = found === 0 ? [] : connection.all({ sql: groupsHeldSql, params: [] }).map(toGroupHeld)
    return { ...none, exists: true, groups, schema: { found, known } }
  } finally {
    connection.close()
  }
}

/** The folder that the file is in, or would be created in. */
function nearestFolder(path: string): string {
  let folder = dirname(resolve(path))
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}
