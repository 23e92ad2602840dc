import type pg from 'pg'
import { copyMark } from '../copy/mark.ts'
import type { CellKind, CopyTarget, TableLayout } from '../copy/source-and-target.ts'
import { quote } from '../copy/table-walk.ts'
import { StorageError } from '../errors.ts'
import { migrations } from '../migrations/list.ts'
import { createPool, describePlace, Session } from './connect.ts'
import { copyMs } from './copy-source.ts'
import { makeClock, makeVersion, migrateFrom } from './migrate.ts'
import { findIdentityColumns } from './identity-columns.ts'
import { startError } from './prepare.ts'

/** The lock of a copy: `tollcopy` in bytes, as a number of 64 bits. */
const lockId = '0x746f6c6c636f7079'
const types: { readonly [K in CellKind]: string } = { text: 'text', whole: 'bigint', bytes: 'bytea' }

/**
 * Fills an empty database. All rows are in one transaction, so that an interrupted copy leaves none; the mark that
 * makes other programs refuse the database is committed before, and removed with it.
 * @throws StorageError `copy_taken`, `copy_unfinished`, `storage_unavailable`
 */
export async function openTarget(url: string, tables: readonly TableLayout[]): Promise<CopyTarget> {
  const place = describePlace(url)
  const pool = createPool(url, 1, copyMs)
  let client: pg.PoolClient | undefined
  try {
    client = await pool.connect()
    await mark(client, place)
    await client.query('BEGIN')
    await makeClock(client)
    await migrateFrom(client, 0)
    for (const { name } of tables.toReversed()) {
      await client.query(`ALTER TABLE ${quote(name)} DISABLE TRIGGER USER`)
      await client.query(`DELETE FROM ${quote(name)}`)
    }
  } catch (error) {
    client?.release(true)
    await pool.end()
    throw startError(error, url)
  }
  const open = client
  let isKept = false
  return {
    place,
    holdsNul: false,
    run: steps => new Session(open).run(steps),
    async put({ name, columns }, rows) {
      const names = columns.map(column => quote(column.name)).join(', ')
      const lists = columns.map(({ kind }, i) => `$${i + 1}::${types[kind]}[]`).join(', ')
      await open.query(
        `INSERT INTO ${quote(name)} (${names}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${lists})`,
        columns.map((_, i) => rows.map(row => row[i])),
      )
    },
    async numberFrom(last) {
      for (const { table, column, sequence } of await findIdentityColumns(open)) {
        const { rows } = await open.query(`SELECT max(${quote(column)}) AS highest FROM ${quote(table)}`)
        const number = Math.max(Number(rows[0]?.highest ?? 0), last.get(table) ?? 0)
        if (number > 0) await open.query('SELECT setval($1, $2)', [sequence, number])
      }
    },
    async seal() {
      // Deferred checks prevent changes of tables until they have run.
      await open.query('SET CONSTRAINTS ALL IMMEDIATE')
      for (const { name } of tables) await open.query(`ALTER TABLE ${quote(name)} ENABLE TRIGGER USER`)
      for (const { name } of tables) await open.query(`ANALYZE ${quote(name)}`)
    },
    async keep() {
      await open.query(`UPDATE tollgate_schema SET version = ${migrations.length}`)
      await open.query('COMMIT')
      isKept = true
    },
    async close() {
      try {
        if (!isKept) {
          await open.query('ROLLBACK')
          await unmark(open)
        }
      } catch {
        // The server is unreachable: the mark stays, and the next copy finds it.
      } finally {
        open.release(true)
        await pool.end()
      }
    },
  }
}

/** @throws StorageError `copy_taken`, `copy_unfinished` while another copy is made */
async function mark(client: pg.PoolClient, path: string): Promise<void> {
  await client.query('SET idle_in_transaction_session_timeout = 0')
  const { rows: locked } = await client.query(`SELECT pg_try_advisory_lock(${BigInt(lockId)}) AS got`)
  if (locked[0]?.got !== true) throw new StorageError('copy_unfinished', { path })
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_catalog.pg_class c WHERE c.relnamespace = current_schema()::regnamespace
       AND c.relkind IN ('r', 'p') AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
         WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY c.relname`,
  )
  const names = rows.map(({ name }) => name)
  // The process that set the mark has no lock any more, and its rows were rolled back.
  if (names.length === 1 && (await isMarked(client))) await unmark(client)
  else if (names.length > 0) throw new StorageError('copy_taken', { path, reason: `there is a table ${names[0]}` })
  await client.query('BEGIN')
  await makeVersion(client, copyMark)
  await client.query('COMMIT')
}

async function isMarked(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query(`SELECT 1 FROM pg_catalog.pg_tables
    WHERE tablename = 'tollgate_schema' AND schemaname = current_schema()`)
  if (rows.length === 0) return false
  const { rows: versions } = await client.query('SELECT version FROM tollgate_schema')
  return Number(versions[0]?.version) === copyMark
}

async function unmark(client: pg.PoolClient): Promise<void> {
  await client.query('DROP TABLE tollgate_schema')
}
