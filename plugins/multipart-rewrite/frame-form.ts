import { fail } from './errors.ts'

/** Most bytes of one part's header lines. */
export const headBytesMax = 8192
/** Most bytes of all parts' header lines: what bounds the number of parts, since files are bounded by bytes alone. */
export const headsBytesMax = 1024 * 1024
/** Most bytes before the first boundary. */
export const preambleBytesMax = 1024

const crlf = Buffer.from('\r\n')
const blankLine = Buffer.from('\r\n\r\n')
/** What may follow the last boundary: nothing, a line end, or the two that `form-data-encoder` (openai-node 4) writes. */
const lastLineEnds = blankLine
const cr = 0x0d
/** What every delimiter begins with: so short a text is searched for three times as fast in noise as the whole of it. */
const lineBegin = Buffer.from('\r\n--')
/** Lines of a chunk that begin so before the whole delimiter is searched for: text may be full of them. */
const shortTries = 8
const nothing = Buffer.alloc(0)

/** What becomes of the parts of a form. Bytes are lent: they may be others once the call has returned. */
export type FrameSink = {
  /** The header lines of the next part, without the blank one. */
  head(block: Buffer): void
  /** More of that part's content. */
  content(bytes: Buffer): void
}

/** `mark`: the two bytes after a boundary, which say whether a part or the end follows. */
type State = 'preamble' | 'mark' | 'head' | 'content' | 'epilogue'

/**
 * Walks a form along its boundaries and refuses every framing that readers are known to differ over (RFC 2046 5.1.1):
 * text before the first boundary or after the last, lines that begin like a boundary and are none, parts without a
 * blank line. Chunks may be cut anywhere; contents are searched natively and never copied.
 */
export class FormFrames {
  readonly #delimiter: Buffer
  readonly #sink: FrameSink
  #state: State = 'preamble'
  /** How much of the delimiter stands at the end of what came so far. */
  #matched = 0
  /** How much of that is no content whatever follows: the line end that a content begins after. */
  #borrowed = 0
  /** A preamble, a mark or a head that is not complete. */
  #held: Buffer = nothing
  /** Where heads are put together that do not come in one chunk. */
  #room: Buffer | undefined
  #headsBytes = 0

  constructor(boundary: string, sink: FrameSink) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
    this.#sink = sink
  }

  /** @throws Failure form_malformed, form_too_complex, and what the sink throws */
  take(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) at = this.#step(chunk, at)
  }

  /** @throws Failure form_malformed, form_incomplete */
  end(): void {
    if (this.#state === 'preamble')
      throw fail('form_malformed', { where: 'the body', why: 'holds no boundary like the one its content type names' })
    if (this.#state !== 'epilogue' || this.#held.length % crlf.length !== 0) throw fail('form_incomplete')
  }

  #step(chunk: Buffer, at: number): number {
    if (this.#state === 'content') return this.#content(chunk, at)
    if (this.#state === 'head') return this.#head(chunk, at)
    if (this.#state === 'mark') return this.#mark(chunk, at)
    if (this.#state === 'preamble') return this.#preamble(chunk, at)
    return this.#epilogue(chunk, at)
  }

  #preamble(chunk: Buffer, at: number): number {
    const line = this.#delimiter.subarray(crlf.length)
    const most = preambleBytesMax + line.length
    const before = this.#held.length
    const joined = Buffer.concat([this.#held, chunk.subarray(at, at + most - before)])
    const found = joined.indexOf(line)
    if (found < 0) {
      if (joined.length === most)
        throw fail('form_too_complex', { what: 'more before its first boundary', max: `${preambleBytesMax} bytes` })
      this.#held = joined
      return chunk.length
    }
    // Some readers take it for a boundary, others go on to the next and lose a part.
    if (found > 0 && !joined.subarray(0, found).subarray(-crlf.length).equals(crlf))
      throw fail('form_malformed', { where: 'the first boundary', why: 'does not begin its line' })
    this.#enter('mark')
    return at + found + line.length - before
  }

  #mark(chunk: Buffer, at: number): number {
    const mark = chunk.subarray(at, at + crlf.length - this.#held.length)
    this.#held = Buffer.concat([this.#held, mark])
    if (this.#held.length < crlf.length) return chunk.length
    const text = this.#held.toString('latin1')
    if (text !== '\r\n' && text !== '--')
      throw fail('form_malformed', { where: 'a line', why: 'begins like a boundary and goes on' })
    this.#enter(text === '--' ? 'epilogue' : 'head')
    return at + mark.length
  }

  #head(chunk: Buffer, at: number): number {
    const before = this.#held.length
    // The boundary's own line end is put in front, so that an empty head is found like any other.
    if (before === 0) this.#held = crlf
    const from = Math.max(0, this.#held.length - blankLine.length + 1)
    const most = crlf.length + headBytesMax + blankLine.length
    const joined = this.#join(chunk.subarray(at, at + most - this.#held.length), most)
    const end = joined.indexOf(blankLine, from)
    if (end < 0 || end > crlf.length + headBytesMax) {
      if (joined.length === most)
        throw fail('form_too_complex', { what: 'longer headers in a part', max: `${headBytesMax} bytes` })
      this.#held = joined
      return chunk.length
    }
    this.#headsBytes += end
    if (this.#headsBytes > headsBytesMax)
      throw fail('form_too_complex', { what: 'more headers in all its parts', max: `${headsBytesMax} bytes` })
    // Some readers end the part there, others take the line for a header.
    if (joined.subarray(0, end).includes(this.#delimiter))
      throw fail('form_malformed', { where: 'a part', why: 'has a boundary among its headers' })
    const used = end + blankLine.length - this.#held.length
    this.#sink.head(joined.subarray(Math.min(crlf.length, end), end))
    this.#enter('content')
    return at + used
  }

  /** What is held and what has come; put together in one place, since a head may come byte by byte. */
  #join(part: Buffer, most: number): Buffer {
    const held = this.#held
    if (held === crlf && part.includes(blankLine)) return Buffer.concat([held, part])
    if (held === crlf) {
      this.#room ??= Buffer.allocUnsafeSlow(most)
      held.copy(this.#room)
    }
    const room = this.#room as Buffer
    return room.subarray(0, held.length + part.copy(room, held.length))
  }

  #content(chunk: Buffer, at: number): number {
    const end = this.#search(chunk, at)
    if (end === undefined) return chunk.length
    // Some readers take a head's line end as the boundary's too, others read on.
    if (this.#borrowed > 0)
      throw fail('form_malformed', { where: 'a part', why: 'has no content, not even an empty line' })
    this.#enter('mark')
    return end
  }

  #epilogue(chunk: Buffer, at: number): number {
    this.#held = Buffer.concat([this.#held, chunk.subarray(at, at + lastLineEnds.length + 1)])
    if (!lastLineEnds.subarray(0, this.#held.length).equals(this.#held) || this.#held.length > lastLineEnds.length)
      throw fail('form_malformed', { where: 'the end', why: 'is followed by more' })
    return chunk.length
  }

  #enter(state: State): void {
    this.#state = state
    this.#held = nothing
    this.#matched = state === 'content' ? crlf.length : 0
    this.#borrowed = this.#matched
  }

  /** Gives content away. @returns where the delimiter ends that is found; undefined when it is not complete in this chunk */
  #search(chunk: Buffer, at: number): number | undefined {
    const delimiter = this.#delimiter
    if (this.#matched > 0) {
      const end = Math.min(at + delimiter.length - this.#matched, chunk.length)
      if (delimiter.compare(chunk, at, end, this.#matched, this.#matched + end - at) === 0) {
        this.#matched += end - at
        return this.#matched === delimiter.length ? end : undefined
      }
      this.#give(delimiter, this.#borrowed, this.#matched)
      this.#matched = 0
      this.#borrowed = 0
    }
    const found = this.#find(chunk, at)
    if (found >= 0) {
      this.#give(chunk, at, found)
      return found + delimiter.length
    }
    this.#matched = this.#beginning(chunk, Math.max(at, chunk.length - delimiter.length + 1))
    this.#give(chunk, at, chunk.length - this.#matched)
    return undefined
  }

  /** The place of the first delimiter from `at` on that is whole, or -1. */
  #find(chunk: Buffer, at: number): number {
    const delimiter = this.#delimiter
    let from = at
    for (let tries = 0; tries < shortTries; tries++) {
      const found = chunk.indexOf(lineBegin, from)
      const end = found + delimiter.length
      if (found < 0 || end > chunk.length) return -1
      if (delimiter.compare(chunk, found, end) === 0) return found
      from = found + lineBegin.length
    }
    return chunk.indexOf(delimiter, from)
  }

  #give(bytes: Buffer, from: number, to: number): void {
    if (to > from) this.#sink.content(bytes.subarray(from, to))
  }

  /** How many of the chunk's last bytes are the beginning of a delimiter. A boundary holds no CR: only the last one counts. */
  #beginning(chunk: Buffer, from: number): number {
    const tail = chunk.subarray(from)
    const start = tail.lastIndexOf(cr)
    if (start < 0 || !this.#delimiter.subarray(0, tail.length - start).equals(tail.subarray(start))) return 0
    return tail.length - start
  }
}
