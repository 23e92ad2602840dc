import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { type Frame, type LogRound, placeOfFrame, readRound, withFrames } from './log-frames.ts'
import type { Random } from './random.ts'
import { type DiskOp, drawLoss, type Loss, UnsyncedDisk } from './unsynced.ts'

/** `PRAGMA synchronous`, by its number. */
export const syncLevels = { off: 0, normal: 1, full: 2 } as const

/** A transaction in the log, and the number of operations before its caller could continue. */
type Commit = { readonly end: number; readonly frames: readonly Frame[] }

/** The files after a crash or a power loss, and the valid contents once the database has been opened again. */
export type Remains = {
  readonly files: ReadonlyMap<string, Buffer>
  /** The database after each commit that may be the last, oldest first; the first has all acknowledged commits. */
  readonly sound: readonly Buffer[]
  /** Number of unsynced sectors. */
  readonly open: number
  readonly loss: Loss | undefined
}

/** Maximum frames of acknowledged commits, of 4 KiB each, before they are merged into the image. */
const toldMost = 500

const database = 'db'
const log = 'db-wal'

/**
 * SQLite's disk operations for one database, derived from its files after each statement. The order within a statement
 * is SQLite's own, which `npm run simulate -- --power N --traced` checks against the calls of a real process.
 */
export class RecordedDisk {
  readonly #path: string
  readonly #disk = new UnsyncedDisk()
  readonly #ops: DiskOp[] = []
  readonly #commits: Commit[] = []
  /** Operations that are final on the disk, since an acknowledgement depends on them. */
  #passed = 0
  /** The database as the last statement left it, and with every acknowledged commit. */
  #file: Buffer = Buffer.alloc(0)
  #image: Buffer = Buffer.alloc(0)
  /** Frames of acknowledged commits that are not in the image yet. */
  #told: Frame[] = []
  #round: LogRound | undefined
  #carried = 0

  constructor(path: string) {
    this.#path = path
    if (!existsSync(path)) return
    this.#file = readFileSync(path)
    this.#disk.put(database, this.#file)
    this.#image = this.#file
    if (!existsSync(`${path}-wal`)) return
    this.#disk.put(log, readFileSync(`${path}-wal`))
    const found = readRound(`${path}-wal`, undefined)
    this.#round = found?.round
    this.#image = withFrames(this.#file, found?.frames ?? [])
  }

  /** A position in the order of operations. */
  get mark(): number {
    return this.#passed + this.#ops.length
  }

  get ops(): readonly DiskOp[] {
    return this.#ops
  }

  /** Records the end of a statement. */
  record(level: number): void {
    const found = readRound(`${this.#path}-wal`, this.#round)
    if (found) this.#recordLog(found, level)
    this.#recordDatabase(level, found === undefined)
    if (!found) this.#recordEnd()
    if (found?.frames.length) this.#commits.push({ end: this.mark, frames: found.frames })
  }

  /** A client knows of the state at a mark: from here on it must survive. */
  acknowledge(mark: number): void {
    const count = mark - this.#passed
    if (count <= 0) return
    for (const op of this.#ops.splice(0, count)) this.#disk.apply(op)
    this.#passed = mark
    while (this.#commits[0] && this.#commits[0].end <= mark) this.#told.push(...(this.#commits.shift()?.frames ?? []))
    if (this.#told.length > toldMost) this.#carryTold()
  }

  /** Ends the process or cuts the power between any two unacknowledged operations. This ends the recording. */
  end(how: 'killed' | 'power', random: Random): Remains {
    const until = random.chance(0.4) ? this.#ops.length : random.int(this.#ops.length + 1)
    for (const op of this.#ops.slice(0, until)) this.#disk.apply(op)
    this.#carryTold()
    const sound = [this.#image]
    for (const { frames } of this.#commits) sound.push(withFrames(sound.at(-1) ?? this.#image, frames))
    const loss = how === 'power' ? drawLoss(random) : undefined
    const files = loss ? this.#disk.lose(random, loss) : this.#disk.whole()
    return { files, sound, open: this.#disk.open, loss }
  }

  /** Merges acknowledged commits into the image: many at once, as each merge copies the whole. */
  #carryTold(): void {
    this.#image = withFrames(this.#image, this.#told)
    this.#told = []
  }

  #recordLog({ round, isNew, frames }: NonNullable<ReturnType<typeof readRound>>, level: number): void {
    const first = isNew ? 0 : (this.#round?.frames ?? 0)
    if (isNew) {
      const isCreated = !this.#has(log)
      if (isCreated) this.#ops.push({ do: 'create', file: log })
      this.#ops.push({ do: 'write', file: log, at: 0, bytes: round.head })
      if (level >= syncLevels.normal) this.#ops.push({ do: 'sync', file: log })
      if (level >= syncLevels.normal && isCreated) this.#ops.push({ do: 'sync names' })
      this.#carried = 0
    }
    for (const [at, { bytes }] of frames.entries()) {
      const place = placeOfFrame(first + at, bytes.length - 24)
      this.#ops.push({ do: 'write', file: log, at: place, bytes: bytes.subarray(0, 24) })
      this.#ops.push({ do: 'write', file: log, at: place + 24, bytes: bytes.subarray(24) })
    }
    if (frames.length > 0 && level >= syncLevels.full) this.#ops.push({ do: 'sync', file: log })
    this.#round = round
  }

  /** Whether pages were moved from the log into the database, and which. */
  #recordDatabase(level: number, isLogEmpty: boolean): void {
    const carried = carriedFrames(this.#path)
    if (carried === this.#carried && !isLogEmpty && this.#file.length > 0) return
    this.#carried = carried ?? 0
    const file = existsSync(this.#path) ? readFileSync(this.#path) : Buffer.alloc(0)
    const pages = changedPages(this.#file, file)
    if (this.#file.length === 0) {
      // A new file gets its first page by a rollback journal: all or nothing.
      if (file.length > 0) this.#ops.push({ do: 'put', file: database, bytes: file })
      this.#image = file
      this.#told = []
    } else if (pages.length > 0) {
      if (level >= syncLevels.normal && this.#has(log)) this.#ops.push({ do: 'sync', file: log })
      for (const at of pages)
        this.#ops.push({ do: 'write', file: database, at, bytes: file.subarray(at, at + pageBytes) })
      const isComplete = isLogEmpty || carried === this.#round?.frames
      if (isComplete) this.#ops.push({ do: 'truncate', file: database, size: file.length })
      if (isComplete && level >= syncLevels.normal) this.#ops.push({ do: 'sync', file: database })
    }
    this.#file = file
  }

  /** The log is truncated to nothing, or removed. */
  #recordEnd(): void {
    if (!this.#has(log)) return
    if (!existsSync(`${this.#path}-wal`)) this.#ops.push({ do: 'remove', file: log })
    else if (this.#round) this.#ops.push({ do: 'truncate', file: log, size: 0 })
    this.#round = undefined
    this.#carried = 0
  }

  /** Whether a name exists, after all operations so far. */
  #has(file: string): boolean {
    const last = this.#ops.findLast(op => (op.do === 'create' || op.do === 'remove') && op.file === file)
    return last ? last.do === 'create' : this.#disk.has(file)
  }
}

const pageBytes = 4096

function changedPages(before: Buffer, now: Buffer): readonly number[] {
  const changed: number[] = []
  for (let at = 0; at < now.length; at += pageBytes)
    if (!before.subarray(at, at + pageBytes).equals(now.subarray(at, at + pageBytes))) changed.push(at)
  return changed
}

/** The number of frames moved into the database (`nBackfill` in the log's index). */
function carriedFrames(path: string): number | undefined {
  if (!existsSync(`${path}-shm`)) return undefined
  const file = openSync(`${path}-shm`, 'r')
  try {
    const bytes = Buffer.alloc(4)
    return readSync(file, bytes, 0, 4, 96) === 4 ? bytes.readUInt32LE(0) : undefined
  } finally {
    closeSync(file)
  }
}
