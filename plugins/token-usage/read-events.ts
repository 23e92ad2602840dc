import type { Passed } from '../../src/plugin-api/index.ts'
import { Holdback, joined, RecordReader, type RecordVisitor } from '../../src/wire/index.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** The maximum data bytes of a record that is read, unless a reader sets another limit. */
const dataBytesMax = 1024 * 1024
/** The maximum held bytes of an unfinished record; a record to remove is far smaller. */
const heldBytesMax = 65_536
/** Fields without content; the name of a comment is empty. */
const plainFields: ReadonlySet<string> = new Set(['', 'id', 'retry'])
const none: readonly Buffer[] = []
const nothing = Buffer.alloc(0)

/** Receives a record: its joined data lines and its `event:`. Returns true to remove it from the stream. */
export type OnRecord = (data: Buffer, event: string) => boolean

/**
 * Reads an event stream and passes on its records. Bytes pass as they arrive; with `removes`, the bytes of an
 * unfinished record wait until it is complete, because no event parser can use them before. Everything else stays byte
 * for byte.
 */
export class EventReader implements RecordVisitor {
  readonly bare = true
  readonly #onRecord: OnRecord
  readonly #dataBytesMax: number
  readonly #records = new RecordReader(this)
  /** Undefined if nothing is removed. */
  readonly #holdback: Holdback | undefined
  /** The position after the last byte that was read record by record. */
  #end = 0
  /** Whether the stream is after a line, before the next record. */
  #isBetween = false
  #data: Buffer[] = []
  /** The number of data bytes of the record; beyond the limit the record is not read. */
  #dataBytes = 0
  #event = ''
  /** Whether part of the unfinished record was delivered, so that it cannot be removed. */
  #gone = false
  /** The position after the last removed record. */
  #takenTo = -1
  /** The ends of the records in the current chunk. */
  readonly #ends: number[] = []
  /** Whether the record lies completely in the last chunk. */
  isInside = false
  /** The number of data bytes of records that were too long to read. */
  unreadBytes = 0
  /** Whether there was a line that is neither data nor a field of the standard: an odd upstream may send content in it. */
  hasOtherLines = false

  constructor(onRecord: OnRecord, options: { readonly removes: boolean; readonly bytesMax?: number }) {
    this.#onRecord = onRecord
    this.#holdback = options.removes ? new Holdback() : undefined
    this.#dataBytesMax = options.bytesMax ?? dataBytesMax
  }

  write(chunk: Buffer): Passed {
    if (this.#isBetween && findPlainRecords(chunk, this.#dataBytesMax, this.#ends)) return this.#readPlain(chunk)
    const passed = this.#holdback ? this.#readHeld(this.#holdback, chunk) : this.#read(chunk)
    this.#isBetween = this.#records.isBetween && this.#records.from === this.#end
    return passed
  }

  /** Ends the stream. A last record without its blank line counts, because some parsers accept it. */
  end(): Passed {
    this.#records.end(this.#end)
    return this.#holdback?.release(this.#end) ?? none
  }

  /** Reads complete records with one line of data each. */
  #readPlain(chunk: Buffer): Passed {
    let kept: Buffer[] | undefined
    let from = 0
    this.isInside = true
    for (const end of this.#ends) {
      const isTaken =
        this.#onRecord(chunk.subarray(from + plainStart.length, end - 2), '') && this.#holdback !== undefined
      if (isTaken) kept ??= from > 0 ? [chunk.subarray(0, from)] : []
      else kept?.push(chunk.subarray(from, end))
      from = end
    }
    this.isInside = false
    return kept ?? chunk
  }

  #read(chunk: Buffer): Buffer {
    const base = this.#end
    this.#end += chunk.length
    this.#records.read(chunk, base)
    return chunk
  }

  #readHeld(holdback: Holdback, chunk: Buffer): Passed {
    const base = this.#end
    // A line feed after a removed record belongs to the carriage return that ended the record.
    if (this.#takenTo === base && this.#records.awaitsLineFeed && chunk[0] === lineFeed) this.#takeOut(base, base + 1)
    this.#read(chunk)
    const { from } = this.#records
    if (this.#end - from > heldBytesMax) this.#gone = true
    const until = this.#gone ? this.#end : from
    if (until === this.#end && holdback.from === base && this.#takenTo <= base) {
      holdback.pass(chunk.length)
      return chunk
    }
    holdback.push(chunk)
    return holdback.release(until)
  }

  #takeOut(from: number, to: number): void {
    this.#holdback?.replace(from, to, nothing)
    this.#takenTo = to
  }

  data(piece: Buffer): void {
    this.#dataBytes += piece.length
    if (this.#dataBytes <= this.#dataBytesMax) this.#data.push(piece)
    else this.#data = []
  }

  field(name: string, value: string): void {
    if (name === 'event') this.#event = value
    else if (!plainFields.has(name)) this.hasOtherLines = true
  }

  recordEnd(next: number): void {
    const isTaken = this.#dispatch() && !this.#gone
    this.#gone = false
    if (isTaken) this.#takeOut(this.#records.from, next)
  }

  /** Ends the record. @returns true to remove it. */
  #dispatch(): boolean {
    const data = this.#data
    const event = this.#event
    const isWhole = this.#dataBytes <= this.#dataBytesMax
    if (!isWhole) this.unreadBytes += this.#dataBytes
    this.#dataBytes = 0
    if (data.length > 0) this.#data = []
    this.#event = ''
    if (!isWhole || (data.length === 0 && event === '')) return false
    return this.#onRecord(joined(data), event)
  }
}

/** The usual beginning of a record: one line of data. */
const plainStart = Buffer.from('data: ')

/** Whether a chunk consists of complete records with one data line each; puts their ends into `ends`. */
function findPlainRecords(chunk: Buffer, bytesMax: number, ends: number[]): boolean {
  ends.length = 0
  for (let at = 0; at < chunk.length; ) {
    if (!startsWith(chunk, at, plainStart)) return false
    const feed = chunk.indexOf(lineFeed, at + plainStart.length)
    if (feed < 0 || feed - at - plainStart.length > bytesMax || chunk[feed + 1] !== lineFeed) return false
    at = feed + 2
    ends.push(at)
  }
  return ends.length > 0 && !chunk.includes(carriageReturn)
}

function startsWith(chunk: Buffer, at: number, name: Buffer): boolean {
  for (let i = 0; i < name.length; i++) if (chunk[at + i] !== name[i]) return false
  return true
}
