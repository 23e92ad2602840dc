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
/** How often a migration checks whether older processes have ended. */
const waitMs = 1_000
/** The longest time of one statement of a migration. */
const migrationMs = 86_400_000

/** How a database is prepared. */
export type Preparation = {
  readonly clock: Clock
  /** Migrates a database with an older schema; otherwise only a new one is created. */
  readonly isOwn: boolean
  readonly onWait: OnWait
}

/** Migrates the schema once the database answers. @throws StorageError that names the database */
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
      // Another process is migrating, and no process reads the version until that is over.
      if (isOwn && isStopped(error)) return await migrateInItsTime(url, preparation)
      const isHopeless = error instanceof StorageError || isWrongAddress(error) || !isLost(error)
      if (isHopeless || clock.tick() >= until) throw startError(error, url)
    }
    await clock.sleep(againMs)
  }
}

/** Changing a table of very many rows takes minutes, and other processes wait as long. */
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

/** The reason why a database is unavailable, with its address. */
export function startError(error: unknown, url: string): Error {
  const reason = error instanceof StorageError ? undefined : storageFailure(error)
  if (reason === undefined) return toStorageError(error)
  return new StorageError('storage_unavailable', { reason: `${describePlace(url)}: ${reason}` })
}
