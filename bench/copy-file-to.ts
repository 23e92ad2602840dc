import { DatabaseSync } from 'node:sqlite'
import type { Client } from 'pg'
import { systemClock } from '../src/kit/index.ts'
import { openStorage } from '../src/storage/index.ts'
import { onlyErrors } from './fill.ts'

const rowsTogether = 5_000
/** What the copy has of its own. */
const notCopied = new Set(['replica', 'meta_lock'])

/** Copies every row of a file of SQLite to an empty database of PostgreSQL, as it is: past the guards, for what it is to prove is in the file. */
export async function copyFileTo(path: string, url: string, client: Client): Promise<void> {
  const storage = await openStorage({ url, clock: systemClock, log: onlyErrors, role: 'tool' })
  await storage.close()
  const db = new DatabaseSync(path, { readOnly: true })
  // Neither triggers nor references: a superuser's session may.
  await client.query(`SET session_replication_role = replica; SET synchronous_commit = off`)
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
    const sql = `INSERT INTO "${name}" (${quoted}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${shared.map((column, i) => `$${i + 1}::${column.type}[]`).join(', ')})`
    let lists: unknown[][] = shared.map(() => [])
    let [waiting, copied] = [0, 0]
    const put = async (): Promise<void> => {
      if (waiting > 0) await client.query({ name: `to ${name}`, text: sql, values: lists })
      copied += waiting
      if (copied % 1_000_000 < waiting) process.stderr.write(`  ${copied} rows of ${name}\n`)
      lists = shared.map(() => [])
      waiting = 0
    }
    for (const row of db.prepare(`SELECT ${quoted} FROM "${name}"`).iterate()) {
      for (const [i, column] of shared.entries()) lists[i]?.push(row[column.name])
      if (++waiting === rowsTogether) await put()
    }
    await put()
  }
  db.close()
  await client.query('ANALYZE')
}
