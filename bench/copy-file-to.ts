import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import type { Client } from 'pg'
import { systemClock } from '../src/util/index.ts'
import { openStorage } from '../src/storage/index.ts'
import { copyRows } from './copy-rows.ts'
import { onlyErrors } from './fill.ts'

/** What the copy has of its own. */
const notCopied = new Set(['replica', 'meta_lock'])

/**
 * Copies every row of an SQLite file to an empty PostgreSQL database unchanged, without checks: the file contains the
 * data to measure.
 */
export async function copyFileTo(path: string, url: string, client: Client): Promise<void> {
  const storage = await openStorage({ url, clock: systemClock, log: onlyErrors, role: 'tool' })
  await storage.close()
  const db = new DatabaseSync(path, { readOnly: true })
  // Disables triggers and foreign keys, which a superuser's session may do.
  await client.query(
    `SET session_replication_role = replica; SET synchronous_commit = off; SET maintenance_work_mem = '256MB'`,
  )
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`,
  )
  for (const { name } of tables) {
    const { rows: columns } = await client.query<{ name: string; type: string }>(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = quote_ident($1)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
      [name],
    )
    const known = new Set(
      db
        .prepare(`SELECT name FROM pragma_table_info('${name}')`)
        .all()
        .map(row => row['name']),
    )
    if (known.size === 0 || notCopied.has(name)) continue
    const shared = columns.filter(column => known.has(column.name))
    const quoted = shared.map(column => `"${column.name}"`).join(', ')
    await client.query(`DELETE FROM "${name}"`)
    const reading = db.prepare(`SELECT ${quoted} FROM "${name}"`)
    reading.setReturnArrays(true)
    const rows = reading.iterate() as Iterable<unknown> as Iterable<readonly SQLOutputValue[]>
    const indices = await takeIndices(client, name)
    await copyRows(client, `COPY "${name}" (${quoted}) FROM STDIN`, counted(rows, name))
    for (const sql of indices) await client.query(sql)
  }
  db.close()
  await client.query('VACUUM ANALYZE')
}

/**
 * Drops a table's indexes: building them at the end is faster than row by row. @returns the statements that recreate
 * them
 */
async function takeIndices(client: Client, table: string): Promise<readonly string[]> {
  const { rows: keys } = await client.query<{ name: string; made: string }>(
    `SELECT conname AS name, pg_get_constraintdef(oid) AS made FROM pg_constraint
     WHERE conrelid = quote_ident($1)::regclass AND contype IN ('p', 'u')
       AND NOT EXISTS (SELECT 1 FROM pg_constraint other WHERE other.confrelid = quote_ident($1)::regclass)`,
    [table],
  )
  for (const { name } of keys) await client.query(`ALTER TABLE "${table}" DROP CONSTRAINT "${name}"`)
  const { rows: indices } = await client.query<{ name: string; made: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS made FROM pg_index
     WHERE indrelid = quote_ident($1)::regclass
       AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)`,
    [table],
  )
  for (const { name } of indices) await client.query(`DROP INDEX ${name}`)
  return [
    ...keys.map(({ name, made }) => `ALTER TABLE "${table}" ADD CONSTRAINT "${name}" ${made}`),
    ...indices.map(({ made }) => made),
  ]
}

function* counted<T>(rows: Iterable<T>, table: string): Iterable<T> {
  let count = 0
  for (const row of rows) {
    yield row
    if (++count % 1_000_000 === 0) process.stderr.write(`  ${count} rows of ${table}\n`)
  }
}
