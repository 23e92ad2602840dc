import { closeSync, existsSync, fsyncSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { StorageError } from '../errors.ts'
import { openingFailure } from './failure.ts'
import { claim } from './lock.ts'

/** The location of a database, and how to release it. */
export type Place = {
  readonly path: string
  /** Releases it for another gateway. */
  release(this: void): void
  /** Deletes a temporary database. */
  forget(this: void): void
}

/**
 * Finds and, if wanted, claims a database. @throws StorageError also for errors of the file system: a missing disk, no
 * permission.
 */
export function takeLocation(wanted: string, options: { readonly isClaimed: boolean }): Place {
  try {
    const place = findPlace(wanted)
    return { ...place, release: options.isClaimed ? claim(place.path) : () => undefined }
  } catch (error) {
    if (error instanceof StorageError) throw error
    const message = `${wanted}: ${error instanceof Error ? error.message : String(error)}`
    const reason = openingFailure(error, wanted) ?? message
    throw new StorageError('storage_unavailable', { reason })
  }
}

/** The file's real path, because two names of one file mean one database. */
function findPlace(path: string): Omit<Place, 'release'> {
  if (path === ':memory:') {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
    return { path: join(folder, 'tollgate.db'), forget: () => rmSync(folder, { recursive: true, force: true }) }
  }
  makeFolder(dirname(path))
  const real = existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path))
  return { path: real, forget: () => undefined }
}

/**
 * Creates a folder and its parents so that they survive a loss of power: SQLite syncs the entries of a database's
 * folder, but nothing syncs the folder's own entry.
 */
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true })
  if (first === undefined) return
  const top = dirname(resolve(first))
  for (let at = dirname(resolve(folder)); at.length >= top.length; at = dirname(at)) {
    syncNames(at)
    if (at === dirname(at)) return
  }
}

/** If a folder cannot be synced (Windows), its entries are as safe as the system makes them. */
function syncNames(folder: string): void {
  let file: number | undefined
  try {
    file = openSync(folder, 'r')
    fsyncSync(file)
  } catch {
    // The database itself reports a failing disk.
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
