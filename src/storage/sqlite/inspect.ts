import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { copyMark } from '../copy/mark.ts'
import { StorageError } from '../errors.ts'
import { groupsHeldSql, toGroupHeld } from '../groups-held.ts'
import type { StorageState } from '../options.ts'
import { migrations } from '../migrations/list.ts'
import { Connection } from './connect.ts'

/** Inspects a database file without changing it. @throws Error if it cannot be read */
export function inspectSqlite(path: string): StorageState {
  const known = migrations.length
  const folder = nearestFolder(path)
  if (path === ':memory:')
    return { exists: false, groups: [], schema: { found: 0, known }, unwritable: undefined, skewMs: 0 }
  if (!existsSync(path))
    return { exists: false, groups: [], schema: { found: 0, known }, unwritable: refusalOf(folder), skewMs: 0 }
  const connection = new Connection(path, { readOnly: true })
  try {
    const [row] = connection.all({ sql: 'PRAGMA user_version', params: [] })
    const found = Number(row?.['user_version'] ?? 0)
    if (found === copyMark) throw new StorageError('copy_unfinished', { path })
    const groups = found === 0 ? [] : connection.all({ sql: groupsHeldSql, params: [] }).map(toGroupHeld)
    const unwritable = refusalOf(path) ?? refusalOf(folder)
    return { exists: true, groups, schema: { found, known }, unwritable, skewMs: 0 }
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

/** Why this user may not write to the folder; undefined if the user may. The log and the lock are next to the file. */
function refusalOf(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK)
    return undefined
  } catch (error) {
    return `${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`
  }
}
