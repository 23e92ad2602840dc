import type { Clock } from '../../kit/index.ts'
import type { Claim } from '../options.ts'
import { forget } from '../ledger/replicas.ts'
import { useClient, transact } from './commit.ts'
import { createPool } from './connect.ts'
import { prepareDatabase } from './prepare.ts'

/**
 * What the process that starts workers keeps: on PostgreSQL any number of gateways may be at work, so nothing is claimed;
 * the schema is brought up to date, and the lease of a worker that died can be ended at once.
 * @throws StorageError `storage_newer`, `storage_unavailable`
 */
export async function claimPostgres(url: string, clock: Clock): Promise<Claim> {
  const pool = createPool(url, 1)
  try {
    await prepareDatabase(pool, url, clock)
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    async forget(owner) {
      await useClient(pool, client => transact(client, clock, () => forget(owner)))
    },
    release: () => pool.end(),
  }
}
