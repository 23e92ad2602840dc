import { existsSync } from 'node:fs'
import { defaultThresholds } from '../../domain/budget.ts'
import { StorageError } from '../errors.ts'
import type { Claim, Migration, OnWait, StorageOptions } from '../options.ts'
import type { Clock } from '../../util/index.ts'
import { migrations } from '../migrations/list.ts'
import { clear } from '../ledger/recover.ts'
import { hasEnded } from '../ledger/recovery.ts'
import { forget } from '../ledger/replicas.ts'
import type { QueryProgram } from '../query.ts'
import { openingFailure } from './failure.ts'
import { openCurrent, versionOf } from './migrate.ts'
import { takeLocation } from './location.ts'

type Claiming = Pick<StorageOptions, 'clock' | 'log' | 'timeZone' | 'thresholds'>

/**
 * Claims a database file for the workers of one gateway: migrates its schema and recovers the charges that an earlier
 * gateway left, before the first worker opens it.
 * @throws StorageError `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export function claimSqlite(
  wanted: string,
  { clock, log, timeZone: zone = 'UTC', thresholds = defaultThresholds }: Claiming,
): Claim {
  const { path, release } = takeLocation(wanted, { isClaimed: true })
  try {
    const recovery = transact(path, clear({ chain: 'gateway', part: '', zone, thresholds }, clock.now()))
    if (hasEnded(recovery)) log.warn(recovery, 'charges of a gateway that stopped were recovered')
  } catch (error) {
    release()
    const reason = openingFailure(error, path)
    throw reason === undefined ? error : new StorageError('storage_unavailable', { reason })
  }
  return {
    async forget(owner) {
      transact(path, forget(owner))
    },
    release: async () => release(),
  }
}

/** Uses its own connection: a claim does nothing for hours. */
function transact<T>(path: string, steps: QueryProgram<T>): T {
  const connection = openCurrent(path, { isOwn: true })
  try {
    return connection.transact(() => connection.run(steps))
  } finally {
    connection.close()
  }
}

/** How often the file is checked. */
const againMs = 1_000

/**
 * Migrates the schema once no other process has the file. @throws StorageError `storage_newer`, `storage_unavailable`
 */
export async function migrateSqlite(
  wanted: string,
  { clock, onWait }: { readonly clock: Pick<Clock, 'sleep'>; readonly onWait: OnWait },
): Promise<Migration> {
  // A current database needs no migration and no wait.
  if (existsSync(wanted) && versionOf(wanted) === migrations.length)
    return { from: migrations.length, to: migrations.length }
  for (;;) {
    try {
      return migrateFree(wanted)
    } catch (error) {
      const reason = openingFailure(error, wanted)
      if (reason !== undefined) throw new StorageError('storage_unavailable', { reason })
      if (!(error instanceof StorageError)) throw error
      if (error.code === 'storage_in_use') onWait([`gateway${error.params['by']}`])
      else if (error.code === 'storage_open') onWait(['a process that has the file open'])
      else throw error
    }
    await clock.sleep(againMs)
  }
}

function migrateFree(wanted: string): Migration {
  const { path, release } = takeLocation(wanted, { isClaimed: true })
  try {
    const from = existsSync(path) ? versionOf(path) : 0
    openCurrent(path, { isOwn: true }).close()
    return { from, to: migrations.length }
  } finally {
    release()
  }
}
