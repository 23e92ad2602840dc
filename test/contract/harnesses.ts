import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { defaultThresholds } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { migrateStorage, openStorage } from '../../src/storage/index.ts'
import { openDatabase } from '../harness/database.ts'
import { dropTriggers } from '../harness/drop-triggers.ts'
import type { Postgres } from '../harness/postgres.ts'
import { runChild } from './run-child.ts'
import { type Harness, silentLog, type StorageHarness } from './storage.ts'

/** Leaves this process out: it would notice that its own lease was not renewed. */
const lapseOthers = `UPDATE replica SET lease_until = 0 WHERE host NOT LIKE '%:${process.pid}'`

/** A SQLite file in a folder of its own. */
export async function sqliteHarness(): Promise<StorageHarness> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-storage-'))
  const path = join(folder, 'tollgate.db')
  const url = `sqlite:${path}`
  const edit = (sql: string, enableForeignKeyConstraints: boolean, isTampering: boolean): void => {
    const db = new DatabaseSync(path, { timeout: 5_000, enableForeignKeyConstraints })
    try {
      if (isTampering) dropTriggers(db)
      db.exec(sql)
    } finally {
      db.close()
    }
  }
  return {
    url,
    open: (role, clock = systemClock, logPageRows, timeZone = 'UTC', thresholds = defaultThresholds) =>
      openDatabase({ url, clock, role, logPageRows, timeZone, thresholds }),
    child: async (role, job) => runChild(url, role, job),
    lapse: async () => edit(lapseOthers, true, false),
    edit: async sql => edit(sql, true, false),
    read: async sql => {
      const db = new DatabaseSync(path, { timeout: 5_000, readOnly: true })
      try {
        return db.prepare(sql).all()
      } finally {
        db.close()
      }
    },
    tamper: async sql => edit(sql, false, true),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The migrated database of each server, which every other database is copied from. */
const migrated = new WeakMap<Postgres, Promise<string>>()

async function createMigrated(postgres: Postgres): Promise<string> {
  const url = await postgres.createDatabase()
  await migrateStorage({ url, clock: systemClock, onWait: () => undefined })
  return url
}

/** Creates databases on a running PostgreSQL. Only the first is migrated: each later one is a copy of it. */
export function postgresHarness(postgres: Postgres): Harness {
  return async () => {
    const original = migrated.get(postgres) ?? createMigrated(postgres)
    migrated.set(postgres, original)
    const url = await postgres.createDatabase(await original)
    const edit = async (...statements: readonly string[]): Promise<void> => {
      const client = await postgres.connect(url)
      try {
        for (const sql of statements) await client.query(sql)
      } finally {
        await client.end()
      }
    }
    // Each copy needs an identity of its own.
    await edit(`UPDATE meta SET value = ${randomInt(2 ** 47)} WHERE name = 'identity'`)
    return {
      url,
      open: (role, clock = systemClock, logPageRows, timeZone = 'UTC', thresholds = defaultThresholds) =>
        openStorage({ url, clock, log: silentLog, role, logPageRows, timeZone, thresholds }),
      child: async (role, job) => runChild(url, role, job),
      lapse: () => edit(lapseOthers),
      edit: sql => edit(sql),
      async read(sql) {
        const client = await postgres.connect(url)
        try {
          // 64-bit integers arrive as strings.
          const { rows } = await client.query(sql)
          return rows.map(row =>
            Object.fromEntries(
              Object.entries(row).map(([name, value]) => [name, name === 'count' ? Number(value) : value]),
            ),
          )
        } finally {
          await client.end()
        }
      },
      // Bypasses triggers and foreign keys.
      tamper: sql => edit('SET session_replication_role = replica', sql),
      close: async () => undefined,
    }
  }
}
