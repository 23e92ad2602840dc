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
import { findPicture, isLink } from './judge-text.ts'
import type { AnswerWords } from './remainder.ts'
import { type FoundImage, type Scanned, type Scanner, Unreadable, Unrecognised } from './scanned.ts'
import { WholeRecord } from './whole-record.ts'

const fieldNames: ReadonlySet<string> = new Set(['event', 'id', 'retry', ''])
/** What ends a stream, in the words of some. */
const lastWords = '[DONE]'

/**
 * Finds the pictures of an event stream in its vendor's own style as it passes: every event is an answer. Each is held whole up
 * to the blank line that ends it, before which no reader of events can use it, until its pictures are committed. When the
 * budget for whole records is used up, all but a picture's last 4 KiB and what follows them passes.
 */
export class DescribedEventScanner implements RecordVisitor, Scanner {
  readonly #whole: WholeRecord
  readonly #holdback = new Holdback()
  readonly #records = new RecordReader(this)
  readonly #items: DescribedItems
  #walk: JsonWalk
  /** How many pictures came in the records before. */
  #before = 0
  /** What stands in the data where it is no object. */
  #text = ''
  #done: FoundImage[] = []

  constructor(description: Description, budget: ByteBudget, words: AnswerWords = {}) {
    this.#whole = new WholeRecord(budget)
    this.#items = new DescribedItems(description, words, false)
    this.#walk = new JsonWalk(this.#items)
  }

  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#records.read(chunk, base)
    const { end } = this.#holdback
    const isWhole = this.#whole.holds(end - this.#records.from)
    const out = this.#holdback.release(isWhole ? this.#records.from : this.#items.safe(end))
    // Of a record that is held whole nothing is charged before it can go.
    if (!isWhole) this.#done.push(...this.#items.take())
    return { out, done: this.#take() }
  }

  end(): Scanned {
    this.#records.end(this.#holdback.end)
    this.#items.checkEmpty()
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

  data(piece: Buffer, base: number): void {
    this.#walk.walk(piece, base)
    if (this.#walk.foreign && this.#text.length <= fieldCharsMax)
      this.#text += piece.toString('latin1', 0, fieldCharsMax + 1)
    const { fault, followed } = this.#walk
    if (fault !== undefined) throw new Unreadable(fault)
    if (followed) throw new Unrecognised('something behind the JSON object of an event')
    this.#items.remainder.weigh(base + piece.length - this.#records.from, this.#items.count - this.#before + 1)
  }

  field(name: string, value: string): void {
    if (!fieldNames.has(name)) throw new Unrecognised(`a line '${name.slice(0, 40)}', which no event has`)
    if (value.length > fieldCharsMax)
      throw new Unrecognised(`more than ${fieldCharsMax} characters in a line that is no data`)
    if (isLink(value) || findPicture(value) !== undefined)
      throw new Unrecognised(`a link or a picture in a line '${name}'`)
  }

  recordEnd(): void {
    if (this.#walk.foreign && (this.#text.length > fieldCharsMax || this.#text.trim() !== lastWords))
      throw new Unrecognised('an event whose data is no JSON object')
    if (this.#walk.open) throw new Unreadable('an event ends before its JSON does')
    const { remainder } = this.#items
    remainder.checkLinks()
    remainder.weighPieces(this.#items.count)
    this.#done.push(...this.#items.take())
    this.#whole.renew()
    this.#items.forget()
    this.#before = this.#items.count
    this.#walk = new JsonWalk(this.#items)
    this.#text = ''
  }
}
