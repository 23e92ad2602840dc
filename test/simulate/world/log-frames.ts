import { closeSync, openSync, readSync } from 'node:fs'

/** One page in a write-ahead log (sqlite.org/walformat.html). */
export type Frame = {
  readonly page: number
  /** Size of the database in pages after a commit; 0 for a frame that ends none. */
  readonly pages: number
  /** Its header and its page, as in the log. */
  readonly bytes: Buffer
}

/** One round of a write-ahead log: its header, and its frames up to the last commit. */
export type LogRound = {
  readonly head: Buffer
  readonly salt: string
  readonly frames: number
  /** The checksums from which the next frame continues. */
  readonly sums: Sums
}
type Sums = readonly [number, number]

const magic = 0x377f0682
const headBytes = 32
const frameHeadBytes = 24

/** The offset of a frame. */
export function placeOfFrame(frame: number, pageBytes: number): number {
  return headBytes + frame * (frameHeadBytes + pageBytes)
}

/** Reads the part of a log after `before`. @returns undefined if there is no log, or an empty one */
export function readRound(
  path: string,
  before: LogRound | undefined,
): { readonly round: LogRound; readonly isNew: boolean; readonly frames: readonly Frame[] } | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return undefined
  }
  try {
    const head = Buffer.alloc(headBytes)
    if (readSync(file, head, 0, headBytes, 0) < headBytes) return undefined
    const isBig = (head.readUInt32BE(0) & 1) === 1
    const headSums = addSums([0, 0], head.subarray(0, 24), isBig)
    if (head.readUInt32BE(0) >>> 1 !== magic >>> 1 || !isSame(headSums, sumsAt(head, 24))) return undefined
    const salt = head.toString('hex', 16, 24)
    const isNew = before?.salt !== salt
    const pageBytes = head.readUInt32BE(8)
    const first = isNew ? 0 : before.frames
    const frames: Frame[] = []
    let sums = isNew ? headSums : before.sums
    let [whole, wholeSums] = [0, sums]
    for (;;) {
      const bytes = Buffer.alloc(frameHeadBytes + pageBytes)
      const at = placeOfFrame(first + frames.length, pageBytes)
      if (readSync(file, bytes, 0, bytes.length, at) < bytes.length || bytes.toString('hex', 8, 16) !== salt) break
      sums = addSums(addSums(sums, bytes.subarray(0, 8), isBig), bytes.subarray(frameHeadBytes), isBig)
      if (!isSame(sums, sumsAt(bytes, 16))) break
      const frame = { page: bytes.readUInt32BE(0), pages: bytes.readUInt32BE(4), bytes }
      frames.push(frame)
      if (frame.pages > 0) [whole, wholeSums] = [frames.length, sums]
    }
    const round = { head, salt, frames: first + whole, sums: wholeSums }
    return { round, isNew, frames: frames.slice(0, whole) }
  } finally {
    closeSync(file)
  }
}

function sumsAt(bytes: Buffer, at: number): Sums {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
}

function isSame(one: Sums, two: Sums): boolean {
  return one[0] === two[0] && one[1] === two[1]
}

/** SQLite's checksums of a log: reading stops at the first frame that does not match. */
function addSums([one, two]: Sums, bytes: Buffer, isBig: boolean): Sums {
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + two + (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at))) >>> 0
    two = (two + one + (isBig ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4))) >>> 0
  }
  return [one, two]
}

/** A database after the frames of its log were applied. */
export function withFrames(database: Buffer, frames: readonly Frame[]): Buffer {
  const last = frames.findLast(frame => frame.pages > 0)
  const first = frames[0]
  if (!last || !first) return database
  const pageBytes = first.bytes.length - frameHeadBytes
  const grown = Buffer.alloc(last.pages * pageBytes)
  database.copy(grown)
  for (const { page, bytes } of frames)
    if (page <= last.pages) bytes.copy(grown, (page - 1) * pageBytes, frameHeadBytes)
  return grown
}
