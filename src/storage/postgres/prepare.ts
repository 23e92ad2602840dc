import type pg from 'pg'
import type { Clock } from '../../kit/index.ts'
import { StorageError } from '../errors.ts'
import { useClient } from './commit.ts'
import { createPool, describePlace } from './connect.ts'
import { isLost, isWrongAddress, storageFailure, toStorageError } from './failure.ts'
import { isCurrent, migrate } from './migrate.ts'

/** How long a start waits for a database that is itself starting. */
const patienceMs = 5_000
const againMs = 250
/** What one statement of a migration may take. */
const migrationMs = 86_400_000

/** Brings the schema up to date, when the database is there. @throws StorageError that says which database */
export async function prepareDatabase(pool: pg.Pool, url: string, clock: Clock): Promise<void> {
  const until = clock.tick() + patienceMs
  for (;;) {
    try {
      if (await useClient(pool, client => isCurrent(client, url))) return
      return await migrateInItsTime(url)
    } catch (error) {
      const isHopeless = error instanceof StorageError || isWrongAddress(error) || !isLost(error)
      if (isHopeless || clock.tick() >= until) throw startError(error, url)
    }
    await clock.sleep(againMs)
  }
}

/** A table of very many rows takes minutes to change, and so long do those wait that find somebody else at it. */
async function migrateInItsTime(url: string): Promise<void> {
  const pool = createPool(url, 1, migrationMs)
  try {
    await useClient(pool, client => migrate(client, url))
  } finally {
    await pool.end()
  }
}

/** What kept us from a database, with where it is. */
export function startError(error: unknown, url: string): Error {
  const reason = error instanceof StorageError ? undefined : storageFailure(error)
  if (reason === undefined) return toStorageError(error)
  return new StorageError('storage_unavailable', { reason: `${describePlace(url)}: ${reason}` })
}
