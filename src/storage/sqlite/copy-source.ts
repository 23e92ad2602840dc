import { existsSync } from 'node:fs'
import { StorageError } from '../errors.ts'
import type { CopySource } from '../copy/source-and-target.ts'
import type { QueryProgram } from '../query.ts'
import { whole, text } from '../rows.ts'
import { Connection } from './connect.ts'
import { storageFailure } from './failure.ts'
import { isCurrent } from './migrate.ts'
import { takeLocation } from './location.ts'
import { runInTurns } from './run-in-turns.ts'

/**
 * Opens a source file. While it is open no gateway starts on it, unless the copy is a snapshot.
 * @throws StorageError `copy_in_use`, `copy_older`, `copy_unfinished`, `storage_newer`, `storage_unavailable`
 */
export async function openSource(
  wanted: string,
  { isSnapshot }: { readonly isSnapshot: boolean },
): Promise<CopySource> {
  if (!existsSync(wanted)) throw new StorageError('storage_unavailable', { reason: `${wanted} is not there` })
  const { path, release } = claim(wanted, isSnapshot)
  let connection: Connection | undefined
  try {
    const opened = (connection = new Connection(path, { readOnly: true }))
    // The first read decides the moment of the snapshot.
    opened.db.exec('BEGIN')
    if (!isCurrent(opened, path)) throw new StorageError('copy_older', { path })
    return {
      place: path,
      run: steps => runInTurns(opened, steps),
      runNow: async steps => runOn(path, steps),
      async lastNumbers() {
        const rows = opened.all({ sql: 'SELECT name, seq FROM sqlite_sequence', params: [] })
        return new Map(rows.map(row => [text(row, 'name'), whole(row, 'seq')]))
      },
      async close() {
        opened.close()
        release()
      },
    }
  } catch (error) {
    connection?.close()
    release()
    const reason = storageFailure(error)
    throw reason === undefined ? error : new StorageError('storage_unavailable', { reason: `${path}: ${reason}` })
  }
}

function claim(wanted: string, isSnapshot: boolean) {
  try {
    return takeLocation(wanted, { isClaimed: !isSnapshot })
  } catch (error) {
    if (error instanceof StorageError && error.code === 'storage_in_use')
      throw new StorageError('copy_in_use', { path: `${wanted}${error.params['by'] ?? ''}` })
    throw error
  }
}

function runOn<T>(path: string, steps: QueryProgram<T>): T {
  const connection = new Connection(path, { readOnly: true })
  try {
    return connection.snapshot(steps)
  } finally {
    connection.close()
  }
}
