import type pg from 'pg'
import { StorageError } from '../errors.ts'
import { migrations, moves } from '../migrations/list.ts'
import { describePlace, Session } from './connect.ts'
import { translateSchema } from './translate.ts'

/** Of the lock that those who migrate wait for: `tollgate` in bytes, as a number of 32 bits. */
const lockId = 0x746f6c6c

/**
 * Brings the schema up to this version in one transaction: a process killed half-way leaves the database as it was, and of
 * several that start at once one migrates and the others find it done.
 * @throws StorageError `storage_newer` when a newer version has been here.
 */
export async function migrate(client: pg.PoolClient, url: string): Promise<void> {
  if ((await readVersion(client, url)) === migrations.length) return
  await client.query('BEGIN')
  try {
    await client.query('SET LOCAL statement_timeout = 0')
    await client.query(`SELECT pg_advisory_xact_lock(${lockId})`)
    const found = await readVersion(client, url)
    if (found === 0) await prepare(client)
    for (let version = found; version < migrations.length; ) {
      for (const statement of migrations[version] ?? []) await client.query(translateSchema(statement))
      const move = moves[++version]
      if (move) await new Session(client).run(move())
    }
    await client.query(`UPDATE tollgate_schema SET version = ${migrations.length}`)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** What the migrations stand on: the clock of leases, and where the version is kept. */
async function prepare(client: pg.PoolClient): Promise<void> {
  await client.query(
    'CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$',
  )
  await client.query('CREATE TABLE tollgate_schema (version BIGINT NOT NULL)')
  await client.query('INSERT INTO tollgate_schema VALUES (0)')
}

async function readVersion(client: pg.PoolClient, url: string): Promise<number> {
  // Not `to_regclass`: it goes by what the session remembers, and one that has waited for another to migrate remembers none.
  const made = await client.query(
    `SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = 'tollgate_schema' AND schemaname = ANY (current_schemas(false))`,
  )
  if (made.rows.length === 0) return 0
  const { rows } = await client.query('SELECT version FROM tollgate_schema')
  const found = Number(rows[0]?.version ?? 0)
  const known = migrations.length
  if (found > known) throw new StorageError('storage_newer', { path: describePlace(url), found, known })
  return found
}
