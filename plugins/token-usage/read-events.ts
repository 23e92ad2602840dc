import type { Passed } from '../../src/kit/index.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const openObject = 0x7b
const openArray = 0x5b

/** A record with more data than this is passed and not looked at, unless a reader says otherwise. */
const dataBytesMax = 1024 * 1024
/** No more of an unfinished record is held; one that is to be taken out is far smaller. */
const heldBytesMax = 65_536
const none: readonly Buffer[] = []

/** What a record says: its `event:` and its data lines, joined. Returns true to take it out of the stream. */
export type OnRecord = (data: Buffer, event: string) => boolean

/**
 * Follows an event stream (HTML 9.2) split anywhere and tells its records. Bytes pass as they come; with `removes`, those
 * of an unfinished record wait until it is whole, which no reader of events could have used before. What is not taken out
 * stays byte for byte.
 */
export class EventReader {
  readonly #onRecord: OnRecord
  readonly #removes: boolean
  readonly #dataBytesMax: number
  /** Of the line that is not whole yet. */
  #line: Buffer[] = []
  #data: Buffer[] = []
  #event = ''
  /** Bytes of line and data kept; beyond the bound the record is not looked at. */
  #kept = 0
  /** The record is bare JSON, as upstreams that fail in the middle of a stream write it. */
  #bare = false
  /** Bytes of the unfinished record that wait. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Some of the unfinished record has gone: it stays. */
  #gone = false
  #skipLineFeed = false
  #dropLineFeed = false
  /** No record has begun: a line feed that is still due belongs to the one before. */
  #isBetween = true
  #begun = false
  /** Data of records that were too long to be looked at. */
  unreadBytes = 0

  constructor(onRecord: OnRecord, options: { readonly removes: boolean; readonly bytesMax?: number }) {
    this.#onRecord = onRecord
    this.#removes = options.removes
    this.#dataBytesMax = options.bytesMax ?? dataBytesMax
  }

  write(chunk: Buffer): Passed {
    if (this.#isPlain && isOneRecord(chunk, this.#dataBytesMax))
      return this.#onRecord(chunk.subarray(plainStart.length, -2), '') && this.#removes ? none : chunk
    const out: Buffer[] = []
    /** Bytes before this place are in `out`, or taken out. */
    let cut = 0
    let at: number = this.#afterCarriageReturn(chunk)
    if (at === 1 && this.#dropLineFeed) cut = 1
    if (chunk.length > 0) this.#dropLineFeed = false
    /** Where the record begins, as far as it is in this chunk. */
    let start: number = this.#isBetween ? at : 0
    let feed = -2
    let carriage = -2
    while (at < chunk.length) {
      if (feed !== -1 && feed < at) feed = chunk.indexOf(lineFeed, at)
      if (carriage !== -1 && carriage < at) carriage = chunk.indexOf(carriageReturn, at)
      const stop = feed === -1 ? carriage : carriage === -1 ? feed : Math.min(feed, carriage)
      if (stop === -1) {
        this.#keep(this.#line, chunk.subarray(at))
        break
      }
      let next = stop + 1
      if (chunk[stop] === carriageReturn) {
        if (chunk[next] === lineFeed) next++
        else this.#skipLineFeed = next === chunk.length
      }
      const isOver = this.#endLine(chunk, at, stop)
      at = next
      if (!isOver) continue
      const isTaken = this.#dispatch() && this.#removes && !this.#gone
      if (isTaken) {
        if (start > cut) out.push(chunk.subarray(cut, start))
        cut = next
        this.#dropLineFeed = this.#skipLineFeed
      } else if (this.#held.length > 0) out.push(...this.#held)
      if (this.#held.length > 0) this.#letGo()
      this.#gone = false
      start = next
    }
    return this.#pass(chunk, out, cut, start)
  }

  /** The stream is over. A last record without its blank line counts, since some readers take it. */
  end(): Passed {
    const line = joined(this.#line)
    this.#line = []
    if (line.length > 0) this.#readJoined(line)
    const held = this.#held
    this.#letGo()
    return this.#dispatch() && this.#removes && !this.#gone ? none : held
  }

  /** What may go of a chunk: all but what was taken out and, where records are taken out, the unfinished one. */
  #pass(chunk: Buffer, out: Buffer[], cut: number, start: number): Passed {
    const rest = chunk.length - start
    const isOpen = rest > 0 || this.#held.length > 0
    if (chunk.length > 0) this.#isBetween = start === chunk.length
    if (isOpen && this.#removes && !this.#gone && this.#heldBytes + rest <= heldBytesMax) {
      if (start > cut) out.push(chunk.subarray(cut, start))
      if (rest > 0) this.#held.push(chunk.subarray(start))
      this.#heldBytes += rest
      return out
    }
    if (isOpen) this.#gone = true
    if (this.#held.length > 0) {
      out.push(...this.#held)
      this.#letGo()
    }
    if (out.length === 0 && cut === 0) return chunk
    if (cut < chunk.length) out.push(chunk.subarray(cut))
    return out
  }

  /** Between two records, of which the first has been. */
  get #isPlain(): boolean {
    return this.#isBetween && this.#begun && !this.#skipLineFeed
  }

  #letGo(): void {
    this.#held = []
    this.#heldBytes = 0
  }

  /** A line feed that belongs to the carriage return at the end of the chunk before. */
  #afterCarriageReturn(chunk: Buffer): 0 | 1 {
    if (!this.#skipLineFeed || chunk.length === 0) return 0
    this.#skipLineFeed = false
    return chunk[0] === lineFeed ? 1 : 0
  }

  #keep(list: Buffer[], part: Buffer): void {
    this.#kept += part.length
    if (this.#kept <= this.#dataBytesMax) list.push(part)
  }

  /** @returns true when the line is blank: the record is over. */
  #endLine(chunk: Buffer, from: number, to: number): boolean {
    if (this.#line.length === 0) {
      if (from === to) return true
      this.#readLine(chunk.subarray(from, to))
      return false
    }
    this.#keep(this.#line, chunk.subarray(from, to))
    const line = joined(this.#line)
    this.#line = []
    this.#readJoined(line)
    return false
  }

  /** Its bytes were counted when they came, and are now counted as data. */
  #readJoined(line: Buffer): void {
    if (this.#kept <= this.#dataBytesMax) this.#kept -= line.length
    this.#readLine(line)
  }

  #readLine(line: Buffer): void {
    const from = this.#begun ? 0 : markLength(line)
    this.#begun = true
    const first = line[from]
    if (this.#bare || ((first === openObject || first === openArray) && this.#data.length === 0)) {
      this.#bare = true
      this.#keep(this.#data, line)
    } else if (startsWith(line, from, dataName)) this.#keep(this.#data, valueOf(line, from + dataName.length))
    else if (startsWith(line, from, eventName))
      this.#event = valueOf(line, from + eventName.length).toString('latin1', 0, 64)
  }

  /** The record is over. @returns true when it is to be taken out. */
  #dispatch(): boolean {
    const data = this.#data
    const event = this.#event
    const isWhole = this.#kept <= this.#dataBytesMax
    if (!isWhole) this.unreadBytes += this.#kept
    this.#kept = 0
    this.#bare = false
    if (data.length === 0 && event === '') return false
    this.#data = []
    this.#event = ''
    if (!isWhole) return false
    return this.#onRecord(data.length === 1 ? (data[0] as Buffer) : Buffer.concat(withBreaks(data)), event)
  }
}

/** How nearly every chunk of a stream begins: one record of one line of data. */
const plainStart = Buffer.from('data: ')
const dataName = Buffer.from('data:')
const eventName = Buffer.from('event:')
const lineBreak = Buffer.from('\n')

/** One record of one line of data, and nothing else. */
function isOneRecord(chunk: Buffer, bytesMax: number): boolean {
  const feed = chunk.length - 2
  return (
    feed >= plainStart.length &&
    feed <= bytesMax &&
    chunk[feed] === lineFeed &&
    startsWith(chunk, 0, plainStart) &&
    chunk.indexOf(lineFeed) === feed &&
    chunk[feed + 1] === lineFeed &&
    !chunk.includes(carriageReturn)
  )
}

function startsWith(line: Buffer, from: number, name: Buffer): boolean {
  for (let i = 0; i < name.length; i++) if (line[from + i] !== name[i]) return false
  return true
}

function valueOf(line: Buffer, from: number): Buffer {
  return line.subarray(line[from] === space ? from + 1 : from)
}

/** A byte order mark may stand at the very beginning. */
function markLength(line: Buffer): number {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}

function withBreaks(lines: readonly Buffer[]): Buffer[] {
  return lines.flatMap((line, i) => (i === 0 ? [line] : [lineBreak, line]))
}
