import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Random } from '../world/random.ts'
import { FaultyDisk, installDisk } from '../world/storage.ts'
import type { DiskOp } from '../world/unsynced.ts'
import { load, open } from './load.ts'
import { startHere } from './threads.ts'

/** The operations on the disk, and the position at which each charge was acknowledged as settled. */
export type Trace = {
  readonly ops: readonly DiskOp[]
  readonly told: readonly { readonly id: string; readonly at: number }[]
}

/** The disk under every database of this process: it only records, without faults. */
const disk = new FaultyDisk(new Random(0, 'disk'), () => undefined)
installDisk(disk)

/** Runs a storage on a new database, and records its disk operations. */
export async function recordTrace(folder: string, random: Random): Promise<Trace> {
  const home = mkdtempSync(join(folder, 'recorded-'))
  const path = join(home, 'books.db')
  const recorded = disk.watch(path)
  disk.checkpointEvery = random.pick([undefined, 4, 16, 64])
  const told: { id: string; at: number }[] = []
  const storage = await open(path, startHere)
  await load(storage, 4 + random.int(24), id => told.push({ id, at: recorded.mark }))
  // Closing is part of it: the log is checkpointed and removed.
  await storage.close()
  rmSync(home, { recursive: true })
  disk.checkpointEvery = undefined
  return { ops: [...recorded.ops], told }
}

/**
 * Pairs of consecutive kinds of calls, whatever their number: the part that two traces of one program have in common.
 */
export function sequencesOf(ops: readonly DiskOp[]): ReadonlySet<string> {
  // The recorder treats the first page of a file as one step, so pairs count from the log's first write on.
  const from = ops.findIndex(op => op.do === 'create' && op.file === 'db-wal')
  const kinds = ops.slice(from).map(kindOf)
  const pairs = kinds.slice(1).map((kind, at) => [kinds[at], kind])
  return new Set(pairs.flatMap(([one, two]) => (one === two ? [] : [`${one} → ${two}`])))
}

function kindOf(op: DiskOp): string {
  if (!('file' in op)) return op.do
  return `${op.do} ${op.file === 'db' ? 'database' : 'log'}`
}
