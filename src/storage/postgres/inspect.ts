import type { Clock } from '../../util/index.ts'
import { copyMark } from '../copy/mark.ts'
import { StorageError } from '../errors.ts'
import { groupsHeldSql, toGroupHeld } from '../groups-held.ts'
import { migrations } from '../migrations/list.ts'
import type { StorageState } from '../options.ts'
import { createPool, describePlace } from './connect.ts'
import { storageFailure } from './failure.ts'
import { encodingFault } from './migrate.ts'

/** Inspects a database without changing it. @throws Error if it does not answer */
export async function inspectPostgres(url: string, clock: Pick<Clock, 'now'>): Promise<StorageState> {
  const pool = createPool(url, 1)
  try {
    const sentAt = clock.now()
    const result = await pool.query(`SELECT to_regclass('tollgate_schema') IS NOT NULL AS made,
      current_setting('transaction_read_only') AS readonly,
      current_setting('server_encoding') AS encoding,
      has_schema_privilege(current_schema(), 'CREATE') AS creates,
      (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`)
    const answeredAt = clock.now()
    const [row] = result.rows
    const made = row?.made === true
    const versions = made ? await pool.query('SELECT version FROM tollgate_schema') : undefined
    const found = Number(versions?.rows[0]?.version ?? 0)
    if (found === copyMark) throw new StorageError('copy_unfinished', { path: describePlace(url) })
    const held = found === 0 ? undefined : await pool.query(groupsHeldSql)
    const closed = made ? (await pool.query<{ name: string }>(closedTables)).rows.map(({ name }) => name) : []
    return {
      exists: made,
      groups: held?.rows.map(toGroupHeld) ?? [],
      schema: { found, known: migrations.length },
      unwritable: whyUnwritable({
        isReadOnly: row?.readonly === 'on',
        mayCreate: made || row?.creates === true,
        closed,
      }),
      encodingFault: encodingFault(String(row?.encoding)),
      // The server read its clock between the two readings of the local clock.
      skewMs: skewOf(Number(row?.now), sentAt, answeredAt),
    }
  } catch (error) {
    if (error instanceof StorageError) throw error
    throw new Error(storageFailure(error), { cause: error })
  } finally {
    await pool.end()
  }
}

const namedMax = 3

/** Tables of the gateway that this role may not use as a gateway does between migrations. */
const closedTables = `SELECT tables.tablename AS name FROM pg_catalog.pg_tables AS tables
  JOIN pg_catalog.pg_tables AS own ON own.tablename = 'tollgate_schema' AND own.schemaname = ANY (current_schemas(false))
    AND own.schemaname = tables.schemaname AND own.tableowner = tables.tableowner
  CROSS JOIN LATERAL (SELECT format('%I.%I', tables.schemaname, tables.tablename)::regclass AS oid) AS the
  WHERE NOT (has_table_privilege(the.oid, 'SELECT') AND has_table_privilege(the.oid, 'INSERT')
    AND has_table_privilege(the.oid, 'UPDATE') AND has_table_privilege(the.oid, 'DELETE'))
  ORDER BY name`

type Rights = { readonly isReadOnly: boolean; readonly mayCreate: boolean; readonly closed: readonly string[] }

function whyUnwritable({ isReadOnly, mayCreate, closed }: Rights): string | undefined {
  if (isReadOnly) return 'it takes no writes: a server in recovery, or a user who may only read'
  if (!mayCreate) return 'the role may not create tables in the schema'
  const others = closed.length > namedMax ? ` and ${closed.length - namedMax} others` : ''
  return closed.length > 0 ? `the role may not write ${closed.slice(0, namedMax).join(', ')}${others}` : undefined
}

function skewOf(theirs: number, sentAt: number, answeredAt: number): number {
  if (theirs < sentAt) return theirs - sentAt
  return theirs > answeredAt ? theirs - answeredAt : 0
}
