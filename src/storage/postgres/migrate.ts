import type pg from 'pg'
import { copyMark } from '../copy/mark.ts'
import { StorageError } from '../errors.ts'
import { migrations, moves } from '../migrations/list.ts'
import { ask, type QueryProgram } from '../query.ts'
import { whole } from '../rows.ts'
import { describePlace, Session, uncheckedName } from './connect.ts'
import { storageFailure } from './failure.ts'
import { translateSchema } from './translate.ts'

/** The lock of migrations: `tollgate` in bytes, as a number of 32 bits. */
const lockId = 0x746f6c6c

/**
 * Migrates the schema to this version in one transaction: a process killed half-way leaves the database unchanged, and
 * of several that start at once one migrates and the others find it done. Migrates a database with an older schema only
 * if `isOwn`, and only when no process of the older version is left: such a process would continue to write in the old
 * form.
 * @returns the processes that it waits for; none if the schema is current
 * @throws StorageError `storage_older`, `storage_newer` if a newer version has used the database, `copy_unfinished`,
 * `storage_unlike`
 */
export async function migrate(client: pg.PoolClient, url: string, isOwn: boolean): Promise<readonly string[]> {
  let from = 0
  await client.query('BEGIN')
  try {
    await client.query('SET LOCAL statement_timeout = 0')
    await client.query(`SELECT pg_advisory_xact_lock(${lockId})`)
    // Every process reads the version before it writes: from here on none does until the migration ends.
    if (await hasVersion(client)) await client.query('LOCK TABLE tollgate_schema IN ACCESS EXCLUSIVE MODE')
    const found = await readVersion(client, url)
    from = found
    if (found === 0) {
      await makeVersion(client, 0)
      await makeClock(client)
    } else if (found < migrations.length) {
      if (!isOwn) throw olderError(url, found)
      const waitsFor = await findOlder(client)
      if (waitsFor.length > 0) {
        await client.query('ROLLBACK')
        return waitsFor
      }
    }
    await migrateFrom(client, found)
    await client.query(`UPDATE tollgate_schema SET version = ${migrations.length}`)
    await client.query('COMMIT')
    return []
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    if (from > 0 && isUnlike(error)) {
      const { message: reason } = error as Error
      throw new StorageError('storage_unlike', { path: describePlace(url), found: from, reason })
    }
    throw error
  }
}

/** Class 42 of SQLSTATE for a schema: a table, an index or a column already exists, or does not exist. */
function isUnlike(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && code.startsWith('42') && storageFailure(error) === undefined
}

export function olderError(url: string, found: number): StorageError {
  return new StorageError('storage_older', { path: describePlace(url), found, known: migrations.length })
}

/**
 * Processes of the schema's version: those with a lease, and those that are connected without one, such as commands,
 * and gateways that were frozen for longer than their lease. Versions that check the schema before each commit have
 * another application name, and need no wait.
 */
async function findOlder(client: pg.PoolClient): Promise<readonly string[]> {
  const { rows: tables } = await client.query(
    `SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = 'replica' AND schemaname = ANY (current_schemas(false))`,
  )
  const leases = `SELECT DISTINCT host FROM replica
    WHERE lease_until >= (extract(epoch FROM clock_timestamp()) * 1000)::bigint ORDER BY host`
  const hosts = tables.length === 0 ? [] : (await client.query<{ host: string }>(leases)).rows
  if (hosts.length > 0) return hosts.map(({ host }) => `gateway ${host}`)
  const { rows } = await client.query<{ pid: number; host: string | null }>(
    `SELECT pid, host(client_addr) AS host FROM pg_catalog.pg_stat_activity WHERE datname = current_database()
       AND usename = current_user AND application_name = '${uncheckedName}' ORDER BY pid`,
  )
  return rows.map(({ pid, host }) => `connection ${pid} from ${host ?? 'this machine'}`)
}

/** Migrates the schema from a version up to this one, or to a version in between; the caller owns the transaction. */
export async function migrateFrom(client: pg.PoolClient, found: number, upTo = migrations.length): Promise<void> {
  for (const migration of migrations.slice(found, upTo)) {
    for (const statement of migration) await client.query(translateSchema(statement))
    const move = moves.get(migration)
    if (move) await new Session(client).run(move())
  }
}

/** Why a database with this encoding cannot store every text; undefined if it can. */
export function encodingFault(encoding: string): string | undefined {
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return undefined
  return `its encoding ${encoding} lacks characters of other languages; create one with ENCODING 'UTF8' TEMPLATE template0`
}

/** Creates the table of the schema version. @throws StorageError if the database cannot store every text */
export async function makeVersion(client: pg.PoolClient, version: number): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
  const fault = encodingFault(rows[0]?.server_encoding ?? 'UTF8')
  if (fault !== undefined) throw new StorageError('storage_unavailable', { reason: fault })
  await client.query('CREATE TABLE tollgate_schema (version BIGINT NOT NULL)')
  await client.query(`INSERT INTO tollgate_schema VALUES (${version})`)
}

/** Creates the clock function of leases, which the migrations need. */
export async function makeClock(client: pg.PoolClient): Promise<void> {
  await client.query(
    'CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$',
  )
}

/** 0 if the database does not have this schema. @throws StorageError `storage_newer`, `copy_unfinished` */
export async function readVersion(client: pg.PoolClient, url: string): Promise<number> {
  if (!(await hasVersion(client))) return 0
  const { rows } = await client.query('SELECT version FROM tollgate_schema')
  const found = Number(rows[0]?.version ?? 0)
  if (found === copyMark) throw new StorageError('copy_unfinished', { path: describePlace(url) })
  if (found > migrations.length) throw newerError(describePlace(url), found)
  return found
}

async function hasVersion(client: pg.PoolClient): Promise<boolean> {
  // Not `to_regclass`: it uses the session's cache, and a session that has waited for another's migration has nothing
  // cached.
  const made = await client.query(
    `SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = 'tollgate_schema' AND schemaname = ANY (current_schemas(false))`,
  )
  return made.rows.length > 0
}

/**
 * Refuses to write if a newer version has changed the schema meanwhile. Must run inside the transaction that writes: a
 * migration waits for it to end.
 * @throws StorageError `storage_newer`
 */
export function* refuseNewer(): QueryProgram<void> {
  const [row] = yield ask('SELECT version FROM tollgate_schema')
  const found = row ? whole(row, 'version') : 0
  if (found > migrations.length) throw newerError('the database', found)
}

function newerError(path: string, found: number): StorageError {
  return new StorageError('storage_newer', { path, found, known: migrations.length })
}
