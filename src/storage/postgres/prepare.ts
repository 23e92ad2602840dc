import type pg from 'pg'
import type { Clock } from '../../util/index.ts'
import { StorageError } from '../errors.ts'
import { migrations } from '../migrations/list.ts'
import type { OnWait } from '../options.ts'
import { useClient } from './commit.ts'
import { createPool, describePlace } from './connect.ts'
import { isLost, isStopped, isWrongAddress, storageFailure, toStorageError } from './failure.ts'
import { migrate, olderError, readVersion } from './migrate.ts'

/** How long a start waits for a database that is itself starting. */
const patienceMs = 5_000
const againMs = 250
/** How often a migration looks whether older processes have gone. */
const waitMs = 1_000
/** What one statement of a migration may take. */
const migrationMs = 86_400_000

/** How a database is prepared. */
export type Preparation = {
  readonly clock: Clock
  /** Migrates a database that has an older schema; otherwise only a new one is made. */
  readonly isOwn: boolean
  readonly onWait: OnWait
}

/** Brings the schema up to date, when the database is there. @throws StorageError that says which database */
export async function prepareDatabase(pool: pg.Pool, url: string, preparation: Preparation): Promise<void> {
  const { clock, isOwn } = preparation
  const until = clock.tick() + patienceMs
  for (;;) {
    try {
      const found = await useClient(pool, client => readVersion(client, url))
      if (found === migrations.length) return
      if (found > 0 && !isOwn) throw olderError(url, found)
      return await migrateInItsTime(url, preparation)
    } catch (error) {
      // Another process migrates, and no one reads the version until that is over.
      if (isOwn && isStopped(error)) return await migrateInItsTime(url, preparation)
      const isHopeless = error instanceof StorageError || isWrongAddress(error) || !isLost(error)
      if (isHopeless || clock.tick() >= until) throw startError(error, url)
    }
    await clock.sleep(againMs)
  }
}

/** A table of very many rows takes minutes to change, and so long do those wait that find another process at it. */
async function migrateInItsTime(url: string, { clock, isOwn, onWait }: Preparation): Promise<void> {
  const pool = createPool(url, 1, migrationMs)
  try {
    for (;;) {
      const waitsFor = await useClient(pool, client => migrate(client, url, isOwn))
      if (waitsFor.length === 0) return
      onWait(waitsFor)
      await clock.sleep(waitMs)
    }
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
