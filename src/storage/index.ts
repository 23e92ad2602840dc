import { systemClock } from '../kit/clock.ts'
import type { Audit, Storage } from '../kit/index.ts'
import { StorageError } from './errors.ts'
import type { Claim, StorageOptions, StorageState } from './options.ts'
import type { StartThread } from './sqlite/thread.ts'

export { StorageError, type StorageErrorCode } from './errors.ts'
export type { Claim, StorageOptions, StorageState } from './options.ts'
export type { StartThread } from './sqlite/thread.ts'

/**
 * Opens the storage that an address names: `sqlite:./data/tollgate.db`, `sqlite::memory:` for one that goes when it is closed,
 * or `postgres://USER:PASSWORD@HOST/DATABASE`. Folders, file and tables are made where they are missing.
 * @throws StorageError `storage_url`, `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export async function openStorage(
  options: StorageOptions & {
    readonly url: string
    /** What a commit waits for another process's, in milliseconds; 5,000 by default. This and the next two are for SQLite. */
    readonly busyMs?: number
    /** The database never grows beyond; no bound by default. */
    readonly bytesMax?: number
    /** Bytes that must be free on the disk for new charges to be opened; 256 MiB by default. */
    readonly diskBytesMin?: number
    /** Threads of the operating system by default. */
    readonly startThread?: StartThread | undefined
  },
): Promise<Storage> {
  if (isPostgres(options.url)) return (await import('./postgres/open.ts')).openPostgres(options)
  const path = sqlitePath(options.url)
  const { openSqlite } = await import('./sqlite/open.ts')
  return openSqlite({ ...options, path })
}

/**
 * Claims a storage for the workers that this process is about to start, brings its schema up to date and recovers what an
 * earlier gateway left.
 * @throws StorageError `storage_url`, `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export async function claimStorage(
  options: Pick<StorageOptions, 'clock' | 'log' | 'timeZone'> & { readonly url: string },
): Promise<Claim> {
  if (isPostgres(options.url)) return (await import('./postgres/claim.ts')).claimPostgres(options.url, options.clock)
  const path = sqlitePath(options.url)
  if (path === ':memory:')
    throw new StorageError('storage_url', { url: 'sqlite::memory:, which is of one process only,' })
  const { claimSqlite } = await import('./sqlite/claim.ts')
  return claimSqlite(path, options)
}

/** Looks at a storage. @throws Error when it cannot be reached or read */
export async function inspectStorage(url: string): Promise<StorageState> {
  if (isPostgres(url)) return (await import('./postgres/inspect.ts')).inspectPostgres(url, systemClock)
  return (await import('./sqlite/inspect.ts')).inspectSqlite(sqlitePath(url))
}

/**
 * Copies a database of SQLite, beside a gateway that may be running on it, as it is at one moment.
 * @throws StorageError `storage_not_a_file`, `file_exists`
 */
export async function backupStorage(options: {
  readonly url: string
  readonly to: string
  /** Is told from time to time how far it has come. */
  readonly onProgress?: (text: string) => void
}): Promise<void> {
  const path = filePath(options.url)
  return (await import('./sqlite/backup.ts')).backupSqlite(path, options.to, systemClock, options.onProgress)
}

/**
 * Puts a copy in the place of a database of SQLite, once its books have been verified; what was there is kept aside.
 * @throws StorageError `storage_not_a_file`, `storage_in_use`, `backup_unsound`
 */
export async function restoreStorage(options: {
  readonly url: string
  readonly from: string
  readonly onProgress?: (text: string) => void
}): Promise<{ readonly aside: string | undefined; readonly audit: Audit }> {
  const path = filePath(options.url)
  return (await import('./sqlite/backup.ts')).restoreSqlite(path, options.from, systemClock, options.onProgress)
}

/** @throws StorageError `storage_not_a_file`, `storage_url` */
function filePath(url: string): string {
  const path = isPostgres(url) ? ':memory:' : sqlitePath(url)
  if (path === ':memory:') throw new StorageError('storage_not_a_file')
  return path
}

function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(url)
}

/** @throws StorageError `storage_url` */
function sqlitePath(url: string): string {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]
  if (path === undefined) throw new StorageError('storage_url', { url: url.replace(/\/\/[^@/]*@/, '//…@') })
  return path
}
