import type { Clock } from '../../util/index.ts'
import { copyMark } from '../copy/mark.ts'
import { StorageError } from '../errors.ts'
import { groupsHeldSql, toGroupHeld } from '../groups-held.ts'
import { migrations } from '../migrations/list.ts'
import type { StorageState } from '../options.ts'
import { createPool, describePlace } from './connect.ts'

/** Inspects a database without changing it. @throws Error if it does not answer */
export async function inspectPostgres(url: string, clock: Pick<Clock, 'now'>): Promise<StorageState> {
  const pool = createPool(url, 1)
  try {
    const sentAt = clock.now()
    const result = await pool.query(`SELECT to_regclass('tollgate_schema') IS NOT NULL AS made,
      current_setting('transaction_read_only') AS readonly,
      (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`)
    const answeredAt = clock.now()
    const [row] = result.rows
    const made = row?.made === true
    const versions = made ? await pool.query('SELECT version FROM tollgate_schema') : undefined
    const found = Number(versions?.rows[0]?.version ?? 0)
    if (found === copyMark) throw new StorageError('copy_unfinished', { path: describePlace(url) })
    const held = found === 0 ? undefined : await pool.query(groupsHeldSql)
    return {
      exists: made,
      groups: held?.rows.map(toGroupHeld) ?? [],
      schema: { found, known: migrations.length },
      unwritable:
        row?.readonly === 'on' ? 'it takes no writes: a server in recovery, or a user who may only read' : undefined,
      // The server read its clock between the two readings of the local clock.
      skewMs: skewOf(Number(row?.now), sentAt, answeredAt),
    }
  } finally {
    await pool.end()
  }
}

function skewOf(theirs: number, sentAt: number, answeredAt: number): number {
  if (theirs < sentAt) return theirs - sentAt
  return theirs > answeredAt ? theirs - answeredAt : 0
}
