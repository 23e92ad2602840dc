import { type ByteBudget, Holdback, JsonWalk, RecordReader, type RecordVisitor } from '../../src/wire/index.ts'
import { type FoundImage, type Scanned, type Scanner, Unreadable } from './scanned.ts'
import { Omission } from './omission.ts'
import { ToolResults } from './tool-results.ts'
import { WholeRecord } from './whole-record.ts'

/** `response`, `output`, its list, an object of it. */
const listed = 4

/**
 * Finds the images that tools have made in an event stream as it passes: of `item`, and of `response.output`, where only
 * those count that no event brought before. Every record is held whole up to the blank line that ends it, before which no
 * reader of events could use it, until its images are committed. When the budget for whole records is used up, all but
 * an image's last 4 KiB and what follows passes. Previews have no `result` and are never billed.
 */
export class ToolEventScanner implements RecordVisitor, Scanner {
  readonly #whole: WholeRecord
  readonly #holdback = new Holdback()
  readonly #records = new RecordReader(this)
  readonly #omission = new Omission(this.#holdback)
  readonly #results = new ToolResults(placeOf, this.#omission)
  #walk = new JsonWalk(this.#results)
  #done: FoundImage[] = []

  constructor(budget: ByteBudget) {
    this.#whole = new WholeRecord(budget)
  }

  get omitted(): string | undefined {
    return this.#omission.shape
  }

  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#records.read(chunk, base)
    const { end } = this.#holdback
    const isWhole = this.#whole.holds(end - this.#records.from)
    const out = this.#holdback.release(isWhole ? this.#records.from : this.#safe(end))
    // Of a record that is held whole nothing is charged before it can go.
    if (!isWhole) this.#done.push(...this.#results.take())
    return { out, done: this.#take() }
  }

  #safe(end: number): number {
    return Math.min(this.#results.safe(end), this.#walk.unfinished ?? end)
  }

  end(): Scanned {
    this.#records.end(this.#holdback.end)
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
    this.#omission.base = base
    this.#walk.walk(piece, base)
    const { fault, followed } = this.#walk
    if (fault !== undefined) throw new Unreadable(fault)
    if (followed)
      this.#omission.rest(this.#walk.followedAt, base + piece.length, 'something behind the JSON object of an event')
  }

  field(): void {}

  recordEnd(): void {
    if (this.#walk.open) throw new Unreadable('an event ends before its JSON does')
    this.#done.push(...this.#results.take())
    this.#whole.renew()
    this.#results.begin()
    this.#walk = new JsonWalk(this.#results)
  }
}

function placeOf({ objects, names }: JsonWalk, depth: number): 'event' | 'list' | undefined {
  if (!objects[depth]) return undefined
  if (depth === 2) return names[1] === 'item' ? 'event' : undefined
  if (depth !== listed || objects[3]) return undefined
  return names[1] === 'response' && names[2] === 'output' ? 'list' : undefined
}
