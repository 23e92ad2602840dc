import type { Clock, Log, Storage } from '../kit/index.ts'
import { StorageError } from './errors.ts'

export { StorageError, type StorageErrorCode } from './errors.ts'

export type StorageOptions = {
  readonly clock: Clock
  readonly log: Log
  /**
   * `gateway`: the one process that bills; claims the storage and recovers what an earlier one left.
   * `tool`: a command beside it.
   */
  readonly role: 'gateway' | 'tool'
}

/**
 * Opens the storage that an address names: `sqlite:./data/tollgate.db`, or `sqlite::memory:` for one that goes when it is
 * closed. Folders, file and tables are made where they are missing.
 * @throws StorageError `storage_url`, `storage_in_use`, `storage_newer`, `storage_unavailable`
 */
export async function openStorage(
  options: StorageOptions & {
    readonly url: string
    /** What a commit waits for another process's, in milliseconds; 5,000 unless told. */
    readonly busyMs?: number
    /** The database never grows beyond; no bound unless told. */
    readonly bytesMax?: number
    /** Bytes that must be free on the disk for new charges to be opened; 256 MiB unless told. */
    readonly diskBytesMin?: number
  },
): Promise<Storage> {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(options.url)?.[1]
  if (path === undefined) throw new StorageError('storage_url', { url: options.url.replace(/\/\/[^@/]*@/, '//…@') })
  const { openSqlite } = await import('./sqlite/open.ts')
  return openSqlite({ ...options, path })
}
