import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Random } from './random.ts'
import type { Remains } from './recorded.ts'
import type { FaultyDisk } from './storage.ts'

/** The effect of a crash or a power loss on a database, and SQLite's result after it. */
export type Damage = {
  readonly how: 'killed' | 'power'
  /** Number of unsynced operations on the disk. */
  readonly open: number
  /** The fault in the result; undefined if there is none. */
  readonly problem: string | undefined
}

/** Ends the recording of `from` and writes the remaining state to `to`. */
export function endPower(disk: FaultyDisk, from: string, to: string, how: Damage['how'], random: Random): Damage {
  const recorded = disk.recordOf(from)
  if (!recorded) throw new Error(`nothing of ${from} was recorded`)
  const remains = recorded.end(how, random)
  layOut(remains.files, to)
  layOut(remains.files, `${to}.opened`)
  const problem = disk.past(() => judgeRemains(`${to}.opened`, remains))
  for (const part of ['', '-wal', '-shm']) rmSync(`${to}.opened${part}`, { force: true })
  return { how, open: remains.open, problem }
}

/** Writes the remains of a database, and of its log, to the files of that path. */
export function layOut(files: ReadonlyMap<string, Buffer>, path: string): void {
  for (const [name, bytes] of files) writeFileSync(path + name.slice('db'.length), bytes)
}

/** Checks that every acknowledged commit is there, others completely or not at all, and that every page is intact. */
function judgeRemains(path: string, { sound }: Remains): string | undefined {
  try {
    const db = new DatabaseSync(path)
    try {
      const [checked] = db.prepare('PRAGMA integrity_check').all()
      if (checked?.['integrity_check'] !== 'ok')
        return `the database is damaged: ${String(checked?.['integrity_check'])}`
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      db.close()
    }
  } catch (error) {
    return `the database cannot be opened: ${error instanceof Error ? error.message : String(error)}`
  }
  const found = readFileSync(path)
  return sound.some(bytes => bytes.equals(found)) ? undefined : 'a commit that was acknowledged is gone, or half there'
}
