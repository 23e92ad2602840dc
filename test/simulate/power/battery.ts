import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { layOut } from '../world/power.ts'
import { Random } from '../world/random.ts'
import { type DiskOp, drawLoss, UnsyncedDisk } from '../world/unsynced.ts'
import { open } from './load.ts'
import { startHere } from './threads.ts'
import { recordTrace, sequencesOf, type Trace } from './trace.ts'
import { traceProcess } from './traced.ts'

const lossesPerTrace = 20

/** The result of a number of power losses. */
export type PowerResult = {
  readonly losses: number
  /** Losses with unsynced operations, and their number by the activity at that moment. */
  readonly atStake: number
  readonly during: { readonly [what: string]: number }
  /** Number of acknowledged charges checked afterwards. */
  readonly acknowledged: number
  readonly problems: readonly string[]
  /** Orders of calls in a real process that the recorder does not know, or the reverse. */
  readonly strange: readonly string[]
}

/** Cuts the power `count` times, at any call to the disk. `isTraced`: with the calls of a real process, from strace. */
export async function losePower(
  count: number,
  seed: number,
  isTraced: boolean,
  tell: (done: number) => void,
): Promise<PowerResult> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-power-'))
  const random = new Random(seed, 'power')
  const result = { losses: 0, atStake: 0, during: {} as { [what: string]: number }, acknowledged: 0 }
  const problems: string[] = []
  const orders = { recorded: new Set<string>(), traced: new Set<string>() }
  try {
    while (result.losses < count) {
      const trace = isTraced ? traceProcess(folder, random) : await recordTrace(folder, random)
      for (const order of sequencesOf(trace.ops)) orders[isTraced ? 'traced' : 'recorded'].add(order)
      if (isTraced) for (const order of sequencesOf((await recordTrace(folder, random)).ops)) orders.recorded.add(order)
      for (let i = 0; i < lossesPerTrace && result.losses < count; i++) {
        const { at, open: stake, asked, found } = await loseOnce(trace, folder, random)
        result.losses++
        result.acknowledged += asked
        if (stake > 0) {
          const what = describe(trace.ops[at - 1])
          result.atStake++
          result.during[what] = (result.during[what] ?? 0) + 1
        }
        problems.push(...found.map(problem => `loss ${result.losses}, behind call ${at}: ${problem}`))
        tell(result.losses)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const strange = isTraced ? [...orders.traced].filter(order => !orders.recorded.has(order)) : []
  return { ...result, problems, strange }
}

async function loseOnce(
  { ops, told }: Trace,
  folder: string,
  random: Random,
): Promise<{ readonly at: number; readonly open: number; readonly asked: number; readonly found: readonly string[] }> {
  const at = random.int(ops.length + 1)
  const disk = new UnsyncedDisk()
  for (const op of ops.slice(0, at)) disk.apply(op)
  const home = mkdtempSync(join(folder, 'left-'))
  const path = join(home, 'books.db')
  layOut(disk.lose(random, drawLoss(random)), path)
  const acknowledged = told.filter(one => one.at <= at).map(one => one.id)
  const found = await judge(path, acknowledged)
  rmSync(home, { recursive: true })
  return { at, open: disk.open, asked: acknowledged.length, found }
}

/**
 * Starts a gateway on the remains: every acknowledged record is there, no record is partial, and the books are valid.
 */
async function judge(path: string, acknowledged: readonly string[]): Promise<readonly string[]> {
  const problems: string[] = []
  try {
    const storage = await open(path, startHere)
    problems.push(...(await storage.books.verify()).problems)
    await storage.close()
    const db = new DatabaseSync(path, { readOnly: true })
    const [checked] = db.prepare('PRAGMA integrity_check').all()
    if (checked?.['integrity_check'] !== 'ok') problems.push(`damaged: ${String(checked?.['integrity_check'])}`)
    const settled = db.prepare(
      `SELECT 1 FROM charge WHERE id = ? AND state = 'settled'
       AND (SELECT count(*) FROM line WHERE charge_id = charge.id) = 2
       AND (SELECT count(*) FROM entry WHERE charge_id = charge.id) = 1`,
    )
    for (const id of acknowledged) if (!settled.get(id)) problems.push(`${id} was acknowledged, and is not there whole`)
    db.close()
  } catch (error) {
    problems.push(`cannot be opened: ${error instanceof Error ? error.message : String(error)}`)
  }
  return problems
}

function describe(op: DiskOp | undefined): string {
  if (!op || !('file' in op)) return 'names'
  return `${op.do} ${op.file === 'db' ? 'database' : op.file === 'db-wal' ? 'log' : 'journal'}`
}
