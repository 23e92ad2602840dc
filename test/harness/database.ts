import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Storage } from '../../src/domain/index.ts'
import { openStorage } from '../../src/storage/index.ts'
import { migrations, moves } from '../../src/storage/migrations/list.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { migrate } from '../../src/storage/sqlite/migrate.ts'
import { systemClock } from '../../src/util/index.ts'
import { startThread } from './threads.ts'

type OpenOptions = Parameters<typeof openStorage>[0]

const kept = resolve(import.meta.dirname, '../../node_modules/.cache/databases')
const silentLog = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Opens a storage, as `openStorage` does: by default as a gateway, with the system's clock and a silent log. A new file
 * starts as a copy of a migrated database, and its threads are reused from closed storages.
 */
export function openDatabase(
  options: Omit<OpenOptions, 'clock' | 'log' | 'role'> & Partial<Pick<OpenOptions, 'clock' | 'log' | 'role'>>,
): Promise<Storage> {
  const path = /^sqlite:(?!:memory:)(.*)$/.exec(options.url)?.[1]
  if (path !== undefined) layDatabase(path)
  return openStorage({ clock: systemClock, log: silentLog, role: 'gateway', startThread, ...options })
}

/**
 * Creates an empty database of this version if there is no file yet. A migration takes a third of a gateway's start; it
 * runs once for every set of migrations.
 */
export function layDatabase(path: string): void {
  if (existsSync(path) || !existsSync(dirname(path))) return
  copyFileSync(findMigrated(), path)
  const database = new DatabaseSync(path)
  // Each copy needs an identity of its own.
  database.exec(`PRAGMA synchronous = OFF;
    UPDATE meta SET value = abs(random() % 9007199254740991) WHERE name = 'identity'`)
  database.close()
}

let migrated: string | undefined

/** A migrated database. Its name is a digest of everything that determines it. */
function findMigrated(): string {
  if (migrated !== undefined && existsSync(migrated)) return migrated
  const made = JSON.stringify([migrations, [...moves.values()].map(String), String(migrate), process.versions.sqlite])
  const path = join(kept, `${createHash('sha256').update(made).digest('hex')}.db`)
  if (!existsSync(path)) {
    mkdirSync(kept, { recursive: true })
    const part = `${path}.${process.pid}.part`
    rmSync(part, { force: true })
    const connection = new Connection(part)
    migrate(connection)
    connection.close()
    chmodSync(part, 0o640)
    renameSync(part, path)
  }
  return (migrated = path)
}
