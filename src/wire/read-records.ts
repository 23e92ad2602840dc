const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
const openObject = 0x7b
const openArray = 0x5b
const lineBreak = Buffer.from('\n')
/**
 * The maximum characters that are kept of a field other than data; surrounding spaces, which some upstreams send to
 * fill the buffers of proxies, do not count.
 */
export const fieldCharsMax = 256

/** Callbacks for an event stream's records as they pass. */
export type RecordVisitor = {
  /**
   * Whether a line that begins like JSON is data, and so are the lines after it: upstreams that fail in a stream write
   * bare JSON.
   */
  readonly bare?: boolean
  /** Content of the record's data: the bytes of `piece`, at the position `base`; a line break separates lines. */
  data(piece: Buffer, base: number): void
  /**
   * Another line has ended, which extends from `from` to after its line break: its field's name ('' for a comment), and
   * its value, trimmed; a value that was cut is longer than `fieldCharsMax`.
   */
  field(name: string, value: string, from: number, to: number): void
  /** A blank line ends the record; the next one begins at `next`. */
  recordEnd(next: number): void
}

type Line = 'name' | 'blank' | 'data' | 'value'

/** Reads records as the standard defines them: lines ended by LF, CR or both, split anywhere (HTML 9.2). */
export class RecordReader {
  readonly #visitor: RecordVisitor
  #line: Line = 'name'
  #name = ''
  #value = ''
  /** Characters other than spaces followed the kept part of the value. */
  #isCut = false
  #isEmpty = true
  #hasData = false
  #isBare = false
  #skipLineFeed = false
  #started = false
  #lineFrom = 0
  /** The beginning of the record. */
  from = 0

  constructor(visitor: RecordVisitor) {
    this.#visitor = visitor
  }

  /**
   * Whether the stream is between two lines: nothing of the next line has arrived, and nothing is missing of the last
   * one.
   */
  get isBetween(): boolean {
    return this.#started && this.#isEmpty && !this.#skipLineFeed
  }

  /** A line feed that follows now belongs to the previous line. */
  get awaitsLineFeed(): boolean {
    return this.#skipLineFeed
  }

  /** Reads a chunk. `base` is the position of its first byte in the caller's count. */
  read(chunk: Buffer, base: number): void {
    let feed = -2
    let carriage = -2
    for (let at = this.#lateLineFeed(chunk, base); at < chunk.length; ) {
      if (feed !== -1 && feed < at) feed = chunk.indexOf(lineFeed, at)
      if (carriage !== -1 && carriage < at) carriage = chunk.indexOf(carriageReturn, at)
      const stop = feed === -1 ? carriage : carriage === -1 ? feed : Math.min(feed, carriage)
      const to = stop === -1 ? chunk.length : stop
      if (to > at) this.#part(chunk, base, at, to)
      if (stop === -1) return
      at = stop + 1
      if (chunk[stop] === carriageReturn) {
        if (chunk[at] === lineFeed) at++
        else this.#skipLineFeed = at === chunk.length
      }
      this.#endLine(base + at)
    }
  }

  /** Ends the stream, and with it a last record without its blank line, which some parsers accept. */
  end(at: number): void {
    if (!this.#isEmpty) this.#endLine(at)
    this.#endRecord(at)
  }

  /** Skips the line feed after a carriage return at the end of the previous chunk. @returns the position after it */
  #lateLineFeed(chunk: Buffer, base: number): 0 | 1 {
    if (!this.#skipLineFeed || chunk.length === 0) return 0
    this.#skipLineFeed = false
    if (chunk[0] !== lineFeed) return 0
    // The line feed belongs to the record that this line may have ended.
    if (this.from === base) this.from++
    return 1
  }

  /** Reads a part of one line. */
  #part(chunk: Buffer, base: number, from: number, to: number): void {
    if (this.#isEmpty) this.#lineFrom = base + from
    this.#isEmpty = false
    let at = this.#line === 'name' ? this.#readName(chunk, base, from, to) : from
    if (at < to && this.#line === 'blank') {
      this.#line = 'data'
      if (chunk[at] === space) at++
    }
    if (at >= to) return
    if (this.#line === 'data') this.#visitor.data(chunk.subarray(at, to), base + at)
    else if (this.#line === 'value') this.#keep(chunk, at, to)
  }

  /** @returns the position after the name and its colon, or the beginning of bare JSON. */
  #readName(chunk: Buffer, base: number, from: number, to: number): number {
    for (let at = from; at < to; ) {
      const byte = chunk[at] as number
      if (this.#name === '' && this.#visitor.bare === true && this.#isBareLine(byte)) {
        this.#beginData(base + at)
        this.#isBare = true
        this.#line = 'data'
        return at
      }
      at++
      if (byte === colon && this.#name === 'data') {
        this.#beginData(base + at - 1)
        this.#line = 'blank'
        return at
      }
      if (byte === colon || this.#name.length > fieldCharsMax) {
        this.#line = 'value'
        return at
      }
      // A byte order mark is allowed at the very beginning.
      if (this.#started || (byte !== 0xef && byte !== 0xbb && byte !== 0xbf)) this.#name += String.fromCharCode(byte)
    }
    return to
  }

  #isBareLine(first: number): boolean {
    return this.#isBare || (!this.#hasData && (first === openObject || first === openArray))
  }

  /** Begins another line of data; its first byte, or the byte before it, is at `at`. */
  #beginData(at: number): void {
    if (this.#hasData) this.#visitor.data(lineBreak, at)
    this.#hasData = true
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    let at = from
    if (this.#value === '') while (at < to && chunk[at] === space) at++
    const kept = Math.min(to, at + fieldCharsMax + 1 - this.#value.length)
    this.#value += chunk.toString('latin1', at, kept)
    for (let i = kept; i < to && !this.#isCut; i++) this.#isCut = chunk[i] !== space
  }

  #endLine(next: number): void {
    this.#started = true
    if (this.#isEmpty) this.#endRecord(next)
    else if (this.#line === 'name' && this.#name !== 'data') this.#visitor.field(this.#name, '', this.#lineFrom, next)
    else if (this.#line === 'value')
      this.#visitor.field(this.#name, this.#isCut ? this.#value : this.#value.trim(), this.#lineFrom, next)
    this.#line = 'name'
    this.#name = ''
    this.#value = ''
    this.#isCut = false
    this.#isEmpty = true
  }

  #endRecord(next: number): void {
    this.#visitor.recordEnd(next)
    this.#hasData = false
    this.#isBare = false
    this.from = next
  }
}
