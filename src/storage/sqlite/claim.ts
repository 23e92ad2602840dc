import { timeOrderedId } from '../../kit/ids.ts'
import type { Clock, Log } from '../../kit/index.ts'
import { StorageError } from '../errors.ts'
import { recover } from '../ledger/recover.ts'
import { Connection } from './connect.ts'
import { storageFailure } from './failure.ts'
import { migrate } from './migrate.ts'
import { takePlace } from './place.ts'

/**
 * Claims a database file for the workers of one gateway: brings its schema up to date and recovers what an earlier gateway
 * left, before the first of them opens it.
 * @returns the release.
 * @throws StorageError `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export function claimSqlite(path: string, { clock, log }: { readonly clock: Clock; readonly log: Log }): () => void {
  const place = takePlace(path, { isClaimed: true })
  try {
    prepare(place.path, clock, log)
    return place.release
  } catch (error) {
    place.release()
    const reason = storageFailure(error)
    throw reason === undefined ? error : new StorageError('storage_unavailable', { reason })
  }
}

function prepare(path: string, clock: Clock, log: Log): void {
  const connection = new Connection(path)
  try {
    migrate(connection, path)
    const self = { owner: timeOrderedId('claim_', clock.now()), chain: 'gateway' }
    const recovery = connection.transact(() => connection.run(recover(self, clock.now())))
    if (recovery.settled + recovery.toReview > 0) log.warn(recovery, 'charges of a gateway that stopped were recovered')
  } finally {
    connection.close()
  }
}
