import { accessSync, constants } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StorageError } from '../errors.ts'
import { isBusy, openingFailure } from './failure.ts'

/**
 * Claims a database for one gateway by a lock that the operating system releases when the process dies, however it
 * dies. Tools do not claim; they write next to the gateway.
 * @returns the release.
 * @throws StorageError `storage_in_use`, `storage_unavailable` if this user may not write the file of the lock
 */
export function claim(path: string): () => void {
  const file = `${path}.lock`
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    // SQLite also opens a file that this user may only read, and such a lock keeps no other gateway out.
    accessSync(file, constants.W_OK)
  } catch (error) {
    lock.close()
    if (isBusy(error)) throw new StorageError('storage_in_use', { path, by: describeHolders(path) })
    const reason = openingFailure(error, file)
    throw reason === undefined ? error : new StorageError('storage_unavailable', { reason })
  }
  return () => lock.close()
}

/**
 * Describes the gateway with the claim, if the database has it: every version since the third schema records its
 * processes.
 */
function describeHolders(path: string): string {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    const hosts = database.prepare('SELECT DISTINCT host FROM replica ORDER BY host').all()
    return hosts.length === 0 ? '' : ` (${hosts.map(({ host }) => String(host)).join(', ')})`
  } catch {
    return ''
  } finally {
    database?.close()
  }
}
