import type pg from 'pg'
import { copyMark } from '../copy/mark.ts'
import { StorageError } from '../errors.ts'
import { migrations, moves } from '../migrations/list.ts'
import { describePlace, Session } from './connect.ts'
import { translateSchema } from './translate.ts'

/** Of the lock that those who migrate wait for: `tollgate` in bytes, as a number of 32 bits. */
const lockId = 0x746f6c6c

/**
 * Brings the schema up to this version in one transaction: a process killed half-way leaves the database as it was, and of
 * several that start at once one migrates and the others find it done.
 * @throws StorageError `storage_newer` when a newer version has been here, `copy_unfinished`
 */
export async function migrate(client: pg.PoolClient, url: string): Promise<void> {
  if (await isCurrent(client, url)) return
  await client.query('BEGIN')
  try {
    await client.query('SET LOCAL statement_timeout = 0')
    await client.query(`SELECT pg_advisory_xact_lock(${lockId})`)
    const found = await readVersion(client, url)
    if (found === 0) {
      await makeVersion(client, 0)
      await makeClock(client)
    }
    await migrateFrom(client, found)
    await client.query(`UPDATE tollgate_schema SET version = ${migrations.length}`)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** Whether nothing is left to do. @throws as `readVersion` */
export async function isCurrent(client: pg.PoolClient, url: string): Promise<boolean> {
  return (await readVersion(client, url)) === migrations.length
}

/** Brings the schema from a version up to this one, or to one on the way; the caller owns the transaction. */
export async function migrateFrom(client: pg.PoolClient, found: number, upTo = migrations.length): Promise<void> {
  for (const migration of migrations.slice(found, upTo)) {
    for (const statement of migration) await client.query(translateSchema(statement))
    const move = moves.get(migration)
    if (move) await new Session(client).run(move())
  }
}

/** Where the version is kept. */
export async function makeVersion(client: pg.PoolClient, version: number): Promise<void> {
  await client.query('CREATE TABLE tollgate_schema (version BIGINT NOT NULL)')
  await client.query(`INSERT INTO tollgate_schema VALUES (${version})`)
}

/** The clock of leases, which the migrations stand on. */
export async function makeClock(client: pg.PoolClient): Promise<void> {
  await client.query(
    'CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$',
  )
}

/** 0 where nothing of ours is. @throws StorageError `storage_newer`, `copy_unfinished` */
export async function readVersion(client: pg.PoolClient, url: string): Promise<number> {
  // Not `to_regclass`: it goes by what the session remembers, and one that has waited for another to migrate remembers none.
  const made = await client.query(
    `SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = 'tollgate_schema' AND schemaname = ANY (current_schemas(false))`,
  )
  if (made.rows.length === 0) return 0
  const { rows } = await client.query('SELECT version FROM tollgate_schema')
  const found = Number(rows[0]?.version ?? 0)
  const known = migrations.length
  if (found === copyMark) throw new StorageError('copy_unfinished', { path: describePlace(url) })
  if (found > known) throw new StorageError('storage_newer', { path: describePlace(url), found, known })
  return found
}
