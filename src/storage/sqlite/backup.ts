import { existsSync, statSync } from 'node:fs'
import {
  access,
  chmod,
  chown,
  constants,
  copyFile,
  type FileHandle,
  link,
  open,
  rename,
  rm,
  stat,
} from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Audit } from '../../domain/index.ts'
import type { Clock } from '../../util/index.ts'
import { StorageError } from '../errors.ts'
import { audit } from '../ledger/audit.ts'
import { Connection } from './connect.ts'
import { isFull, openingFailure, storageFailure } from './failure.ts'
import { isCurrent, migrate } from './migrate.ts'
import { takeLocation } from './location.ts'
import { runInTurns } from './run-in-turns.ts'
import { sync } from './sync.ts'
import { startThread } from './thread.ts'

const reportMs = 200
/** After this time without a report a backup has been killed. */
const killedMs = 10_000

/** Further files of a database: its write-ahead log, and the index of the log. */
const sideFiles = ['', '-wal', '-shm']

/**
 * Copies a database at one moment, while others write to it. The file gets its name when it is complete and on the
 * disk; only its owner may read it.
 * @throws StorageError `file_exists`, `storage_unavailable`
 */
export async function backupSqlite(
  path: string,
  to: string,
  clock: Pick<Clock, 'every' | 'now'>,
  onProgress: (text: string) => void = () => undefined,
): Promise<void> {
  if (existsSync(to)) throw new StorageError('file_exists', { path: to })
  if (!existsSync(path)) throw new StorageError('storage_unavailable', { reason: `${path} is not there` })
  const folder = dirname(resolve(to))
  if (!existsSync(folder))
    throw new StorageError('storage_unavailable', {
      reason: `the copy needs the folder ${folder}, which does not exist`,
    })
  const part = `${to}.part`
  const file = await createPart(part, clock).catch((error: unknown) => {
    throw copyError(error, path, to)
  })
  try {
    const whole = statSync(path).size
    const report = async (): Promise<void> => {
      const now = new Date(clock.now())
      await file.utimes(now, now)
      onProgress(`${megabytes((await file.stat()).size)} of at most ${megabytes(whole)} copied`)
    }
    const reporting = clock.every(reportMs, () => void report().catch(() => undefined))
    try {
      await copyInThread(path, part)
    } finally {
      reporting.cancel()
    }
    onProgress('handing the copy to the disk')
    await file.sync()
    await rename(part, to)
    await sync(dirname(to))
  } catch (error) {
    await rm(part, { force: true })
    throw copyError(error, path, to)
  } finally {
    await file.close()
  }
}

/**
 * Creates the file of a copy, so that no one else can read it from its first byte on; SQLite fills an empty file.
 * Removes the one of a killed backup: a running backup changes the time of its file.
 * @throws StorageError `storage_unavailable` while another backup writes it
 */
async function createPart(part: string, clock: Pick<Clock, 'now'>): Promise<FileHandle> {
  const found = await stat(part).catch(() => undefined)
  if (found && clock.now() - found.mtimeMs > killedMs) await rm(part, { force: true })
  return open(part, 'wx', 0o600)
}

function copyError(error: unknown, path: string, to: string): unknown {
  if (error instanceof StorageError) return error
  const other = 'or choose another file for the copy'
  const isTaken = (error as NodeJS.ErrnoException | null)?.code === 'EEXIST'
  const copy = isTaken
    ? `${to}: another backup writes it, or was killed a moment ago; try again in ${killedMs / 1_000} s, ${other}`
    : (openingFailure(error, to, other) ?? `${to}: ${messageOf(error)}`)
  const reason = isOfCopy(error) ? `the copy ${copy}` : openingFailure(error, path)
  return reason === undefined ? error : new StorageError('storage_unavailable', { reason })
}

/** The copy is only read: faults of files and a full disk are those of the new database. */
function restoreError(error: unknown, from: string, to: string): unknown {
  if (error instanceof StorageError) return error
  const fault = isOfCopy(error) ? openingFailure(error, to) : undefined
  if (fault === undefined)
    return new StorageError('backup_unsound', { path: from, reason: storageFailure(error) ?? messageOf(error) })
  const bytes = statSync(from, { throwIfNoEntry: false })?.size ?? 0
  const need = `the restored database needs ${megabytes(bytes)} next to the replaced one`
  return new StorageError('storage_unavailable', { reason: `${fault}; ${need}` })
}

/** Whether the copy failed, not the database: the database is only read, and only by SQLite. */
function isOfCopy(error: unknown): boolean {
  return isFull(error) || (error as NodeJS.ErrnoException | null)?.syscall !== undefined
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Installs a copy as a database, once its books have been verified. The earlier database is renamed.
 * @throws StorageError `storage_in_use` while a gateway runs on it, `backup_unsound`, `storage_unavailable`
 */
export async function restoreSqlite(
  wanted: string,
  from: string,
  clock: Pick<Clock, 'now'>,
  onProgress: (text: string) => void = () => undefined,
): Promise<{ readonly aside: string | undefined; readonly audit: Audit }> {
  const place = takeLocation(wanted, { isClaimed: true })
  const part = `${place.path}.restoring`
  const removePart = async (): Promise<void> => {
    for (const suffix of sideFiles) await rm(part + suffix, { force: true })
  }
  try {
    await access(from, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EACCES' ? 'this user may not read it' : messageOf(error)
      throw new StorageError('backup_unsound', { path: from, reason })
    })
    // SQLite would write the log that a killed restore has left over the copy.
    await removePart()
    await copyFile(from, part)
    // A database that a restore renamed may have commits that its gateway had no time to move into the file itself.
    if (existsSync(`${from}-wal`)) await copyFile(`${from}-wal`, `${part}-wal`)
    onProgress(`verifying the books of ${from}`)
    const found = await prove(part, from, clock.now())
    onProgress('putting it in place')
    await giveRights(part, place.path)
    await sync(part)
    const before = `${place.path}.before-${stamp(clock.now())}`
    const aside = existsSync(place.path) ? before : undefined
    await setAside(place.path, before)
    await rename(part, place.path)
    await sync(dirname(place.path))
    return { aside, audit: found }
  } catch (error) {
    throw restoreError(error, from, place.path)
  } finally {
    await removePart()
    place.release()
  }
}

/**
 * Gives the replaced database its further name. It keeps its own until the restored one takes that: a gateway that
 * starts after a killed restore would create an empty database in an empty place.
 */
async function setAside(path: string, before: string): Promise<void> {
  if (existsSync(path)) {
    moveLogInto(path)
    // Some file systems have no links.
    await link(path, before).catch(() => rename(path, before))
  }
  // Runs also if the file itself was removed: SQLite would write the log over the restored file.
  for (const suffix of sideFiles)
    if (suffix !== '' && existsSync(path + suffix)) await rename(path + suffix, before + suffix)
}

/** Moves commits from the log of a database into its file, so that the file is complete without the log. */
function moveLogInto(path: string): void {
  try {
    new Connection(path).close()
  } catch {
    // A damaged file keeps its log, and both get the further name.
  }
}

/** The owner and the mode of the replaced database: a gateway of another user must be able to open the new one. */
async function giveRights(part: string, replaced: string): Promise<void> {
  const before = statSync(replaced, { throwIfNoEntry: false })
  await chmod(part, before ? before.mode & 0o777 : 0o640)
  // Only root may give a file to another user.
  if (before && process.getuid?.() === 0) await chown(part, before.uid, before.gid)
}

/** @throws StorageError `backup_unsound` if it is not a database of this gateway with valid books */
async function prove(part: string, from: string, at: number): Promise<Audit> {
  const connection = new Connection(part)
  try {
    const refuse = (reason: string): StorageError => new StorageError('backup_unsound', { path: from, reason })
    const tables = connection.all({ sql: `SELECT 1 FROM sqlite_master WHERE name = 'charge'`, params: [] })
    if (tables.length === 0) throw refuse('it is no database of this gateway')
    const [checked] = connection.all({ sql: 'PRAGMA quick_check(1)', params: [] })
    if (checked?.['quick_check'] !== 'ok') throw refuse('it is damaged')
    if (!isCurrent(connection, from)) migrate(connection)
    const found = await runInTurns(connection, audit({ at, zone: undefined, anchors: [] }))
    if (found.problems.length > 0) throw refuse(`its books do not hold: ${found.problems.slice(0, 3).join('; ')}`)
    // Moves everything into the one file that replaces the database.
    connection.db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return found
  } finally {
    connection.close()
  }
}

/** A copy is one statement, which would block the main thread. */
function copyInThread(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = startThread('copy-thread', { from, to })
    thread.once('error', reject)
    thread.once('exit', resolve)
  })
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_000_000).toLocaleString('en')} MB`
}

function stamp(at: number): string {
  return new Date(at).toISOString().replaceAll(/[-:.]/g, '')
}
