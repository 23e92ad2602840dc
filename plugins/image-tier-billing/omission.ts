import type { Holdback } from '../../src/wire/index.ts'

const blank = 0x20
const comma = 0x2c
const zero = 0x30
/** So much of a list of numbers is left out as one. */
const runBytesMax = 16_384

/**
 * Leaves out of an answer what may be an image that nobody has paid for. A value becomes empty, and blanks take the rest of its
 * place: the answer stays JSON, keeps its members' types, and stays as long as its head says (`docs/billing.md`).
 */
export class Omission {
  readonly #holdback: Holdback
  /** The place of the first byte of the piece that is being read. */
  base = 0
  /** What was left out first, for people; undefined where nothing was. */
  shape: string | undefined
  /** Up to where the value is left out that has begun. */
  #to = 0
  #restTo = 0
  /** The numbers that were left out last. */
  readonly #run = { from: 0, to: -1, bytes: Buffer.alloc(0) }

  constructor(holdback: Holdback) {
    this.#holdback = holdback
  }

  /** Something is odd about what goes out. */
  note(shape: string): void {
    this.shape ??= shape
  }

  /** Leaves out the string from its opening quote to after its closing one. */
  string(from: number, to: number, shape: string): void {
    this.#empty(from, to, '""', shape)
  }

  /** Leaves out a string of which only the bytes up to `to` have come: `more` leaves out the rest. */
  begin(from: number, to: number, shape: string): void {
    this.string(from, to, shape)
    this.#to = to
  }

  /** The value that has begun goes on to `to`. */
  more(to: number): void {
    this.#blank(this.#to, to)
    this.#to = to
  }

  /** Another name takes the place of one, which may not have ended: no reader looks for it. */
  beginName(from: number, to: number, shape: string): void {
    this.#empty(from, to, '"_"', shape)
    this.#to = to
  }

  /** Numbers of a list that follow each other are left out as one: a list of very many would cost more than its bytes. */
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

  /** Leaves out what follows an answer's JSON from `from` on, as far as it has come. */
  rest(from: number, to: number, shape: string): void {
    this.note(shape)
    this.#blank(Math.max(from, this.#restTo), to)
    this.#restTo = to
  }

  /** Makes a comment of lines of an event stream; their last line break stays. */
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
