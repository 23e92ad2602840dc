import {
  type ByteBudget,
  fieldCharsMax,
  Holdback,
  JsonWalk,
  RecordReader,
  type RecordVisitor,
} from '../../src/wire/index.ts'
import { DescribedItems } from './described-items.ts'
import type { Description } from './described-places.ts'
import { flawOf } from './judge-line.ts'
import { Omission } from './omission.ts'
import type { AnswerWords } from './remainder.ts'
import { type FoundImage, type Scanned, type Scanner, Unreadable, Unrecognised } from './scanned.ts'
import { WholeRecord } from './whole-record.ts'

/** What ends a stream, in the words of some. */
const lastWords = '[DONE]'
/** So much waits for the first picture where something was left out before it. */
const waitingBytesMax = 64 * 1024

/**
 * Finds the pictures of an event stream in its vendor's own style as it passes: every event is an answer. Each is held whole up
 * to the blank line that ends it, before which no reader of events can use it, until its pictures are committed. When the
 * budget for whole records is used up, all but a picture's last 4 KiB and what follows them passes.
 */
export class DescribedEventScanner implements RecordVisitor, Scanner {
  readonly #whole: WholeRecord
  readonly #holdback = new Holdback()
  readonly #omission = new Omission(this.#holdback)
  readonly #records = new RecordReader(this)
  readonly #items: DescribedItems
  #walk: JsonWalk
  /** How many pictures came in the records before. */
  #before = 0
  /** The data where it is no object. */
  #text = ''
  #done: FoundImage[] = []
  /** Why the record is not handed out. */
  #flaw: string | undefined
  /** Something has gone out. */
  #hasGone = false

  constructor(description: Description, budget: ByteBudget, words: AnswerWords = {}) {
    this.#whole = new WholeRecord(budget)
    this.#items = new DescribedItems(description, words, this.#omission, true)
    this.#walk = new JsonWalk(this.#items)
  }

  get omitted(): string | undefined {
    return this.#omission.shape
  }

  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#records.read(chunk, base)
    const { end } = this.#holdback
    const from = Math.min(this.#records.from, this.#items.remainder.textFrom ?? end)
    const isWhole = this.#whole.holds(end - from)
    const out = this.#holdback.release(this.#waits ? 0 : isWhole ? from : this.#safe(end))
    if (out.length > 0) this.#hasGone = true
    // Of a record that is held whole nothing is charged before it can go.
    if (!isWhole) this.#done.push(...this.#items.take())
    return { out, done: this.#take() }
  }

  /** Nothing has gone, and something was left out: an answer that has no picture can still be refused. */
  get #waits(): boolean {
    if (this.#hasGone || this.#items.count > 0 || this.omitted === undefined) return false
    return this.#holdback.end <= waitingBytesMax
  }

  #safe(end: number): number {
    const unfinished = this.#items.remainder.isLeavingOut ? undefined : this.#walk.unfinished
    return Math.min(this.#items.safe(end), unfinished ?? end)
  }

  end(): Scanned {
    this.#records.end(this.#holdback.end)
    this.#items.endTexts()
    this.#items.checkEmpty()
    this.#done.push(...this.#items.take())
    return { out: this.#holdback.release(this.#holdback.end), done: this.#take() }
  }

  close(): void {
    this.#whole.drop()
  }

  #take(): readonly FoundImage[] {
    const done = this.#done
    this.#done = []
    return done
  }

  /**
   * The record is not known: none of it goes out.
   * @throws Unrecognised where some of it has gone, for want of room to hold it
   */
  #refuse(shape: string): void {
    if (!this.#whole.isBorne) throw new Unrecognised(shape)
    this.#flaw ??= shape
  }

  data(piece: Buffer, base: number): void {
    if (this.#flaw !== undefined) return
    this.#omission.base = base
    this.#walk.walk(piece, base)
    if (this.#walk.foreign && this.#text.length <= fieldCharsMax)
      this.#text += piece.toString('latin1', 0, fieldCharsMax + 1)
    const { fault, followed } = this.#walk
    if (fault !== undefined) throw new Unreadable(fault)
    const end = base + piece.length
    if (followed) this.#omission.rest(this.#walk.followedAt, end, 'something behind the JSON object of an event')
    this.#items.remainder.within(this.#walk, end)
    this.#items.remainder.weigh(end, false)
  }

  field(name: string, value: string, from: number, to: number): void {
    const flaw = flawOf(name, value)
    if (flaw === undefined) return
    if (!this.#whole.isBorne) throw new Unrecognised(flaw)
    this.#omission.comment(from, to, flaw)
  }

  recordEnd(next: number): void {
    if (this.#flaw === undefined) this.#read()
    if (this.#flaw === undefined) {
      this.#items.readTexts()
      this.#done.push(...this.#items.take())
    } else {
      this.#omission.comment(this.#records.from, next, this.#flaw)
      this.#items.drop(this.#before, next)
    }
    this.#whole.renew()
    this.#items.forget(next)
    this.#before = this.#items.count
    this.#walk = new JsonWalk(this.#items)
    this.#text = ''
    this.#flaw = undefined
  }

  #read(): void {
    if (this.#walk.foreign && (this.#text.length > fieldCharsMax || this.#text.trim() !== lastWords))
      return this.#refuse('an event whose data is no JSON object')
    if (this.#walk.open) throw new Unreadable('an event ends before its JSON does')
    this.#items.remainder.checkLinks()
  }
}
