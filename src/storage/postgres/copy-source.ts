import type pg from 'pg'
import type { CopySource } from '../copy/source-and-target.ts'
import { StorageError } from '../errors.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text } from '../rows.ts'
import { migrations } from '../migrations/list.ts'
import { createPool, describePlace, Session } from './connect.ts'
import { readVersion } from './migrate.ts'
import { findIdentityColumns } from './identity-columns.ts'
import { startError } from './prepare.ts'
import { useClient } from './commit.ts'

/** The longest time of one statement of a copy, for which no request waits. */
export const copyMs = 86_400_000

/**
 * Opens a source database in one transaction that reads the state of one moment.
 * @throws StorageError `copy_in_use`, `copy_older`, `copy_unfinished`, `storage_newer`, `storage_unavailable`
 */
export async function openSource(
  url: string,
  { isSnapshot, now }: { readonly isSnapshot: boolean; readonly now: number },
): Promise<CopySource> {
  const place = describePlace(url)
  const pool = createPool(url, 2, copyMs)
  let client: pg.PoolClient | undefined
  const run = <T>(steps: QueryProgram<T>): Promise<T> => new Session(client as pg.PoolClient).run(steps)
  try {
    client = await pool.connect()
    await client.query('SET idle_in_transaction_session_timeout = 0')
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    const version = await readVersion(client, url)
    if (version === 0) throw new StorageError('storage_unavailable', { reason: `${place} has no tables of a gateway` })
    if (version < migrations.length) throw new StorageError('copy_older', { path: place })
    const hosts = isSnapshot ? [] : await run(findAtWork(now))
    if (hosts.length > 0) throw new StorageError('copy_in_use', { path: `${place} (${hosts.join(', ')})` })
  } catch (error) {
    client?.release(true)
    await pool.end()
    throw startError(error, url)
  }
  const open = client
  return {
    place,
    run,
    runNow: steps => useClient(pool, fresh => new Session(fresh).run(steps)),
    async lastNumbers() {
      const last = new Map<string, number>()
      for (const { table, sequence } of await findIdentityColumns(open)) {
        const { rows } = await open.query(`SELECT last_value, is_called FROM ${sequence}`)
        if (rows[0]?.is_called === true) last.set(table, Number(rows[0].last_value))
      }
      return last
    },
    async close() {
      open.release(true)
      await pool.end()
    },
  }
}

/** The hosts of gateways with a lease. */
function* findAtWork(now: number): QueryProgram<readonly string[]> {
  const rows = yield ask('SELECT DISTINCT host FROM replica WHERE lease_until >= now_ms(?) ORDER BY host', now)
  return rows.map(row => text(row, 'host'))
}
