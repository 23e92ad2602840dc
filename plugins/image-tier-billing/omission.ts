import type { Holdback } from '../../src/wire/index.ts'

const blank = 0x20
const comma = 0x2c
const zero = 0x30
/** The maximum number of bytes of a list of numbers that are omitted together. */
const runBytesMax = 16_384

/**
 * Omits possible unpaid images from an answer. A value becomes empty and spaces fill its place, so the answer remains
 * valid JSON with the same types of members and the same length (`docs/billing.md`).
 */
export class Omission {
  readonly #holdback: Holdback
  /** The offset of the first byte of the current piece. */
  base = 0
  /** A description of the first omission, for messages; undefined if there is none. */
  shape: string | undefined
  /** The offset up to which the unfinished value is omitted. */
  #to = 0
  #restTo = 0
  /** The numbers that were omitted last. */
  readonly #run = { from: 0, to: -1, bytes: Buffer.alloc(0) }

  constructor(holdback: Holdback) {
    this.#holdback = holdback
  }

  /** Records that the output contains something suspicious. */
  note(shape: string): void {
    this.shape ??= shape
  }

  /** Omits the string from its opening quote to its closing one. */
  string(from: number, to: number, shape: string): void {
    this.#empty(from, to, '""', shape)
  }

  /** Omits a string that has arrived only up to `to`; `more` omits the rest. */
  begin(from: number, to: number, shape: string): void {
    this.string(from, to, shape)
    this.#to = to
  }

  /** Omits the unfinished value up to `to`. */
  more(to: number): void {
    this.#blank(this.#to, to)
    this.#to = to
  }

  /** Replaces a name, which may be unfinished, with one that no parser looks for. */
  beginName(from: number, to: number, shape: string): void {
    this.#empty(from, to, '"_"', shape)
    this.#to = to
  }

  /**
   * Omits a number. Consecutive numbers of a list are omitted together: omitting each would cost more than the bytes
   * of the list.
   */
  number(from: number, to: number, shape: string): void {
    this.shape ??= shape
    const run = this.#run
    const isNext = run.to + 1 === from && to - run.from <= runBytesMax && this.#holdback.from <= run.from
    if (!isNext) Object.assign(run, { from, bytes: Buffer.alloc(Math.max(to - from, 64), blank) })
    const length = to - run.from
    if (length > run.bytes.length)
      run.bytes = Buffer.concat([run.bytes, Buffer.alloc(run.bytes.length + length, blank)])
    if (isNext) run.bytes[from - 1 - run.from] = comma
    run.bytes[from - run.from] = zero
    run.to = to
    this.#holdback.replace(run.from, to, run.bytes.subarray(0, length))
  }

  /** Omits the text after an answer's JSON from `from`, as far as it has arrived. */
  rest(from: number, to: number, shape: string): void {
    this.note(shape)
    this.#blank(Math.max(from, this.#restTo), to)
    this.#restTo = to
  }

  /** Turns lines of an event stream into a comment; their last line break remains. */
  comment(from: number, to: number, shape: string): void {
    this.#empty(from, to - 1, ':', shape)
  }

  #empty(from: number, to: number, by: string, shape: string): void {
    this.shape ??= shape
    if (to - from < by.length) return
    const bytes = Buffer.alloc(to - from, blank)
    bytes.write(by, 'latin1')
    this.#holdback.replace(from, to, bytes)
  }

  #blank(from: number, to: number): void {
    if (to > from) this.#holdback.replace(from, to, Buffer.alloc(to - from, blank))
  }
}
