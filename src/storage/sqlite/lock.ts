import { DatabaseSync } from 'node:sqlite'
import { StorageError } from '../errors.ts'
import { isBusy } from './failure.ts'

/**
 * Claims a database for one gateway by a lock that the operating system releases when the process dies, however it
 * dies. Tools do not claim; they write next to the gateway.
 * @returns the release.
 * @throws StorageError `storage_in_use`
 */
export function claim(path: string): () => void {
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw isBusy(error) ? new StorageError('storage_in_use', { path, by: describeHolders(path) }) : error
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
