import type { Clock, Log, Storage } from '../kit/index.ts'
import { StorageError } from './errors.ts'

export { StorageError, type StorageErrorCode } from './errors.ts'

export type StorageOptions = {
  readonly clock: Clock
  readonly log: Log
  /**
   * `gateway`: a process that bills, of many on PostgreSQL, alone on a file of SQLite, which it claims.
   * `worker`: one of several processes of one gateway, which has claimed the file (`claimStorage`) before it starts them.
   * `tool`: a command beside them.
   */
  readonly role: 'gateway' | 'worker' | 'tool'
  /** A name that nobody else has, by which a worker's lease is ended when it dies (`Claim.forget`); made up unless told. */
  readonly owner?: string
}

/**
 * Opens the storage that an address names: `sqlite:./data/tollgate.db`, `sqlite::memory:` for one that goes when it is closed,
 * or `postgres://USER:PASSWORD@HOST/DATABASE`. Folders, file and tables are made where they are missing.
 * @throws StorageError `storage_url`, `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export async function openStorage(
  options: StorageOptions & {
    readonly url: string
    /** What a commit waits for another process's, in milliseconds; 5,000 unless told. This and the next two are for SQLite. */
    readonly busyMs?: number
    /** The database never grows beyond; no bound unless told. */
    readonly bytesMax?: number
    /** Bytes that must be free on the disk for new charges to be opened; 256 MiB unless told. */
    readonly diskBytesMin?: number
  },
): Promise<Storage> {
  if (isPostgres(options.url)) return (await import('./postgres/open.ts')).openPostgres(options)
  const path = sqlitePath(options.url)
  const { openSqlite } = await import('./sqlite/open.ts')
  return openSqlite({ ...options, path })
}

/** What the process that starts workers keeps of a storage while they run. */
export type Claim = {
  /** A worker is gone: what it left open is ended by the others within seconds. By the `owner` that it opened with. */
  forget(this: void, owner: string): Promise<void>
  /** Lets another gateway have it. Workers have to be gone by then. */
  release(this: void): Promise<void>
}

/**
 * Claims a storage for the workers that this process is about to start, brings its schema up to date and recovers what an
 * earlier gateway left.
 * @throws StorageError `storage_url`, `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export async function claimStorage(
  options: Pick<StorageOptions, 'clock' | 'log'> & { readonly url: string },
): Promise<Claim> {
  if (isPostgres(options.url)) return (await import('./postgres/claim.ts')).claimPostgres(options.url)
  const path = sqlitePath(options.url)
  if (path === ':memory:')
    throw new StorageError('storage_url', { url: 'sqlite::memory:, which is of one process only,' })
  const { claimSqlite } = await import('./sqlite/claim.ts')
  return claimSqlite(path, options)
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
