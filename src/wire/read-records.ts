const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
const openObject = 0x7b
const openArray = 0x5b
const lineBreak = Buffer.from('\n')
/** Of a field that is not data so much is kept; blanks around it, which some send to fill the buffers of proxies, are not counted. */
export const fieldCharsMax = 256

/** Callbacks for an event stream's records while they pass. */
export type RecordVisitor = {
  /** A line that begins as JSON does is data, and so are those after it: upstreams that fail in a stream write it bare. */
  readonly bare?: boolean
  /** Content of the record's data: the bytes of `piece`, at `base`; a line break separates lines. */
  data(piece: Buffer, base: number): void
  /**
   * Another line is over, which reaches from `from` to after its line break: its field's name ('' for a comment), and its value,
   * trimmed; longer than is kept where it was cut.
   */
  field(name: string, value: string, from: number, to: number): void
  /** A blank line ends the record; the next one begins at `next`. */
  recordEnd(next: number): void
}

type Line = 'name' | 'blank' | 'data' | 'value'

/** Reads records as the standard has them: lines ended by LF, CR or both, split anywhere (HTML 9.2). */
export class RecordReader {
  readonly #visitor: RecordVisitor
  #line: Line = 'name'
  #name = ''
  #value = ''
  /** More than blanks followed the kept part of the value. */
  #isCut = false
  #isEmpty = true
  #hasData = false
  #isBare = false
  #skipLineFeed = false
  #started = false
  #lineFrom = 0
  /** Where the record begins. */
  from = 0

  constructor(visitor: RecordVisitor) {
    this.#visitor = visitor
  }

  /** A line has been, and nothing has come of the next, nor is due of the last. */
  get isBetween(): boolean {
    return this.#started && this.#isEmpty && !this.#skipLineFeed
  }

  /** A line feed that comes next belongs to the line before. */
  get awaitsLineFeed(): boolean {
    return this.#skipLineFeed
  }

  /** Reads on. `base` is the place of the chunk's first byte in what the caller counts by. */
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

  /** The stream is over, and with it a last record without its blank line, which some readers take. */
  end(at: number): void {
    if (!this.#isEmpty) this.#endLine(at)
    this.#endRecord(at)
  }

  /** Skips the line feed of a carriage return at the end of the chunk before. @returns the place after it */
  #lateLineFeed(chunk: Buffer, base: number): 0 | 1 {
    if (!this.#skipLineFeed || chunk.length === 0) return 0
    this.#skipLineFeed = false
    if (chunk[0] !== lineFeed) return 0
    // It belongs to the record that this line may have ended.
    if (this.from === base) this.from++
    return 1
  }

  /** A stretch of one line. */
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

  /** @returns the place after the name and its colon, or where bare JSON begins. */
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

  /** Another line of data begins; its first byte, or what precedes it, is at `at`. */
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
