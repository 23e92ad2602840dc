import { systemClock } from '../util/clock.ts'
import { isPostgres } from '../util/is-postgres.ts'
import type { Audit, Storage } from '../domain/index.ts'
import type { Copied, CopySource, CopyTarget, TableLayout } from './copy/source-and-target.ts'
import { StorageError } from './errors.ts'
import { logWaits } from './log-waits.ts'
import type { Claim, Migration, OnWait, StorageOptions, StorageState } from './options.ts'
import type { StartThread } from './sqlite/thread.ts'

export { StorageError, type StorageErrorCode } from './errors.ts'
export type { Copied } from './copy/source-and-target.ts'
export type { Claim, Migration, StorageOptions, StorageState } from './options.ts'
export { explainOpening } from './sqlite/failure.ts'
export type { StartThread } from './sqlite/thread.ts'

/**
 * Opens the storage at an address: `sqlite:./data/tollgate.db`, `sqlite::memory:` for a temporary one, or
 * `postgres://USER:PASSWORD@HOST/DATABASE`. Missing folders, files and tables are created. A database with an older
 * schema is migrated only for a gateway: on PostgreSQL once every older process has stopped.
 * @throws StorageError `storage_url`, `storage_in_use`, `storage_newer`, `storage_older`, `storage_open`,
 * `storage_unavailable`
 */
export async function openStorage(
  options: StorageOptions & {
    readonly url: string
    /**
     * How long a commit waits for another process's, in milliseconds; 5,000 by default. This and the next two are for
     * SQLite.
     */
    readonly busyMs?: number
    /** The database never grows beyond it; unlimited by default. */
    readonly bytesMax?: number
    /** Bytes that must be free on the disk for new charges to be opened; 256 MiB by default. */
    readonly diskBytesMin?: number
    /** Starts threads of the operating system by default. */
    readonly startThread?: StartThread | undefined
  },
): Promise<Storage> {
  if (isPostgres(options.url)) return (await import('./postgres/open.ts')).openPostgres(options)
  const path = sqlitePath(options.url)
  const { openSqlite } = await import('./sqlite/open.ts')
  return openSqlite({ ...options, path })
}

/**
 * Claims a storage for the workers that this process is about to start, migrates its schema and recovers what an
 * earlier gateway left.
 * @throws StorageError `storage_url`, `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export async function claimStorage(
  options: Pick<StorageOptions, 'clock' | 'log' | 'timeZone' | 'thresholds'> & { readonly url: string },
): Promise<Claim> {
  const { url, clock, log } = options
  if (isPostgres(url))
    return (await import('./postgres/claim.ts')).claimPostgres(url, { clock, onWait: logWaits(clock, log) })
  const path = sqlitePath(options.url)
  if (path === ':memory:')
    throw new StorageError('storage_url', { url: 'sqlite::memory:, which is of one process only,' })
  const { claimSqlite } = await import('./sqlite/claim.ts')
  return claimSqlite(path, options)
}

/**
 * Waits until no gateway works on a storage, then migrates its schema.
 * @throws StorageError `storage_url`, `storage_newer`, `storage_unavailable`, `copy_unfinished`
 */
export async function migrateStorage(options: {
  readonly url: string
  readonly clock: StorageOptions['clock']
  /** Called every second with the processes that it waits for. */
  readonly onWait: OnWait
}): Promise<Migration> {
  const { url, clock, onWait } = options
  if (isPostgres(url)) return (await import('./postgres/claim.ts')).migratePostgres(url, { clock, onWait })
  return (await import('./sqlite/claim.ts')).migrateSqlite(filePath(url), { clock, onWait })
}

/** Inspects a storage. @throws Error if it cannot be reached or read */
export async function inspectStorage(url: string): Promise<StorageState> {
  if (isPostgres(url)) return (await import('./postgres/inspect.ts')).inspectPostgres(url, systemClock)
  return (await import('./sqlite/inspect.ts')).inspectSqlite(sqlitePath(url))
}

/**
 * Copies an SQLite database at one moment, even while a gateway runs on it.
 * @throws StorageError `storage_not_a_file`, `file_exists`
 */
export async function backupStorage(options: {
  readonly url: string
  readonly to: string
  /** Reports its progress from time to time. */
  readonly onProgress?: (text: string) => void
}): Promise<void> {
  const path = filePath(options.url)
  return (await import('./sqlite/backup.ts')).backupSqlite(path, options.to, systemClock, options.onProgress)
}

/**
 * Installs a copy as an SQLite database, once its books have been verified; keeps the earlier database under another
 * name.
 * @throws StorageError `storage_not_a_file`, `storage_in_use`, `backup_unsound`, `storage_unavailable`
 */
export async function restoreStorage(options: {
  readonly url: string
  readonly from: string
  readonly onProgress?: (text: string) => void
}): Promise<{ readonly aside: string | undefined; readonly audit: Audit }> {
  const path = filePath(options.url)
  return (await import('./sqlite/backup.ts')).restoreSqlite(path, options.from, systemClock, options.onProgress)
}

/**
 * Copies everything from one storage into an empty one, and verifies the copy before it is kept. No gateway may work on
 * the source meanwhile, unless `isSnapshot`: then the copy is of one moment, and lacks later changes.
 * @throws StorageError `storage_url`, `storage_unavailable`, and all that begin with `copy_`
 */
export async function copyStorage(options: {
  readonly from: string
  readonly to: string
  readonly isSnapshot?: boolean
  /** Reports its progress from time to time. */
  readonly onProgress?: (text: string) => void
}): Promise<Copied> {
  const { from, to, isSnapshot = false, onProgress = () => undefined } = options
  const [{ copyBooks }, { readLayout }] = await Promise.all([
    import('./copy/copy-books.ts'),
    import('./sqlite/read-layout.ts'),
  ])
  const tables = readLayout()
  const source = await openSource(from, isSnapshot)
  try {
    const target = await openTarget(to, tables)
    try {
      return await copyBooks(source, target, { tables, clock: systemClock, isSnapshot, onProgress })
    } catch (error) {
      if (error instanceof StorageError) throw error
      throw new StorageError('copy_unsound', { reason: error instanceof Error ? error.message : String(error) })
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function openSource(url: string, isSnapshot: boolean): Promise<CopySource> {
  if (isPostgres(url))
    return (await import('./postgres/copy-source.ts')).openSource(url, { isSnapshot, now: systemClock.now() })
  return (await import('./sqlite/copy-source.ts')).openSource(copiedPath(url), { isSnapshot })
}

async function openTarget(url: string, tables: readonly TableLayout[]): Promise<CopyTarget> {
  if (isPostgres(url)) return (await import('./postgres/copy-target.ts')).openTarget(url, tables)
  return (await import('./sqlite/copy-target.ts')).openTarget(copiedPath(url), tables)
}

/** @throws StorageError `storage_url`: a temporary storage cannot be copied */
function copiedPath(url: string): string {
  const path = sqlitePath(url)
  if (path === ':memory:') throw new StorageError('storage_url', { url: 'sqlite::memory:, for a copy,' })
  return path
}

/** @throws StorageError `storage_not_a_file`, `storage_url` */
function filePath(url: string): string {
  const path = isPostgres(url) ? ':memory:' : sqlitePath(url)
  if (path === ':memory:') throw new StorageError('storage_not_a_file')
  return path
}

/** @throws StorageError `storage_url` */
function sqlitePath(url: string): string {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]
  if (path === undefined) throw new StorageError('storage_url', { url: url.replace(/\/\/[^@/]*@/, '//…@') })
  return path
}
