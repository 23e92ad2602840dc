import { defaultThresholds } from '../../kit/budget.ts'
import { StorageError } from '../errors.ts'
import type { Claim, StorageOptions } from '../options.ts'
import { clear } from '../ledger/recover.ts'
import { forget } from '../ledger/replicas.ts'
import type { QueryProgram } from '../query.ts'
import { Connection } from './connect.ts'
import { openingFailure } from './failure.ts'
import { migrate } from './migrate.ts'
import { takePlace } from './place.ts'

type Claiming = Pick<StorageOptions, 'clock' | 'log' | 'timeZone' | 'thresholds'>

/**
 * Claims a database file for the workers of one gateway: brings its schema up to date and recovers what an earlier gateway
 * left, before the first of them opens it.
 * @throws StorageError `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export function claimSqlite(
  wanted: string,
  { clock, log, timeZone: zone = 'UTC', thresholds = defaultThresholds }: Claiming,
): Claim {
  const { path, release } = takePlace(wanted, { isClaimed: true })
  try {
    const recovery = transact(path, clear({ chain: 'gateway', part: '', zone, thresholds }, clock.now()))
    if (recovery.settled + recovery.toReview > 0) log.warn(recovery, 'charges of a gateway that stopped were recovered')
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

/** On a connection of its own: who claims does nothing for hours. */
function transact<T>(path: string, steps: QueryProgram<T>): T {
  const connection = new Connection(path)
  try {
    migrate(connection, path)
    return connection.transact(() => connection.run(steps))
  } finally {
    connection.close()
  }
}
