import type { Clock } from '../../util/index.ts'
import type { Claim, Migration, OnWait } from '../options.ts'
import { forget } from '../ledger/replicas.ts'
import { useClient, transact } from './commit.ts'
import { migrations } from '../migrations/list.ts'
import { createPool } from './connect.ts'
import { readVersion } from './migrate.ts'
import { prepareDatabase, startError } from './prepare.ts'

type Claiming = { readonly clock: Clock; readonly onWait: OnWait }

/**
 * The claim of the process that starts workers: on PostgreSQL any number of gateways may run, so it claims nothing; it
 * migrates the schema, and can end the lease of a dead worker at once.
 * @throws StorageError `storage_newer`, `storage_unavailable`
 */
export async function claimPostgres(url: string, { clock, onWait }: Claiming): Promise<Claim> {
  const pool = createPool(url, 1)
  try {
    await prepareDatabase(pool, url, { clock, isOwn: true, onWait })
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

/** Migrates the schema once no older process runs. @throws StorageError `storage_newer`, `storage_unavailable` */
export async function migratePostgres(url: string, { clock, onWait }: Claiming): Promise<Migration> {
  const pool = createPool(url, 1)
  try {
    const from = await useClient(pool, client => readVersion(client, url))
    await prepareDatabase(pool, url, { clock, isOwn: true, onWait })
    return { from, to: migrations.length }
  } catch (error) {
    throw startError(error, url)
  } finally {
    await pool.end()
  }
}
