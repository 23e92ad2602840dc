import type pg from 'pg'
import type { Clock } from '../../kit/index.ts'
import { StorageError } from '../errors.ts'
import { useClient } from './commit.ts'
import { describePlace } from './connect.ts'
import { isLost, isWrongAddress, storageFailure, toStorageError } from './failure.ts'
import { migrate } from './migrate.ts'

/** How long a start waits for a database that is itself starting. */
const patienceMs = 5_000
const againMs = 250

/** Brings the schema up to date, when the database is there. @throws StorageError that says which database */
export async function prepareDatabase(pool: pg.Pool, url: string, clock: Clock): Promise<void> {
  const until = clock.tick() + patienceMs
  for (;;) {
    try {
      return await useClient(pool, client => migrate(client, url))
    } catch (error) {
      const isHopeless = error instanceof StorageError || isWrongAddress(error) || !isLost(error)
      if (isHopeless || clock.tick() >= until) throw startError(error, url)
    }
    await clock.sleep(againMs)
  }
}

/** What kept us from a database, with where it is. */
export function startError(error: unknown, url: string): Error {
  const reason = error instanceof StorageError ? undefined : storageFailure(error)
  if (reason === undefined) return toStorageError(error)
  return new StorageError('storage_unavailable', { reason: `${describePlace(url)}: ${reason}` })
}
