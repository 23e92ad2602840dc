import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { StorageError } from '../errors.ts'
import { claim } from './lock.ts'

/** Where a database is, and what to do when it is no longer needed. */
export type Place = {
  readonly path: string
  /** Lets another gateway have it. */
  release(this: void): void
  /** Takes a temporary one away. */
  forget(this: void): void
}

/** Finds and, where told to, claims a database. @throws StorageError also for what the file system says: no such disk, no permission. */
export function takePlace(wanted: string, options: { readonly isClaimed: boolean }): Place {
  try {
    const place = findPlace(wanted)
    return { ...place, release: options.isClaimed ? claim(place.path) : () => undefined }
  } catch (error) {
    if (error instanceof StorageError) throw error
    const reason = `${wanted}: ${error instanceof Error ? error.message : String(error)}`
    throw new StorageError('storage_unavailable', { reason })
  }
}

/** The file's real path, since two names of one file are one database. */
function findPlace(path: string): Omit<Place, 'release'> {
  if (path === ':memory:') {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
    return { path: join(folder, 'tollgate.db'), forget: () => rmSync(folder, { recursive: true, force: true }) }
  }
  mkdirSync(dirname(path), { recursive: true })
  const real = existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path))
  return { path: real, forget: () => undefined }
}
