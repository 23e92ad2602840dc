import { type ByteBudget, RecordReader, type RecordVisitor } from '../../src/wire/index.ts'
import { DescribedItems } from './described-items.ts'
import type { Description } from './described-places.ts'
import type { AnswerWords } from './remainder.ts'
import { EventShell } from './scan-shells.ts'
import type { FoundImage, ScanResult, Scanner } from './scan-result.ts'

/** The maximum number of bytes that wait for the first picture if something was omitted before it. */
const waitingBytesMax = 64 * 1024

/**
 * Finds the pictures of an event stream in its vendor's own format as it passes: every event is an answer. Each event
 * is held completely up to the blank line that ends it, because no event parser can use it before, until its pictures
 * are committed. If the budget for complete records is used up, everything passes except the last 4 KiB of a picture
 * and everything after.
 */
export class DescribedEventScanner implements RecordVisitor, Scanner {
  readonly #shell: EventShell<DescribedItems>
  readonly #records = new RecordReader(this)
  readonly #items: DescribedItems
  /** The number of pictures in earlier records. */
  #before = 0
  #done: FoundImage[] = []
  /** Whether something was delivered. */
  #hasGone = false

  constructor(description: Description, budget: ByteBudget, words: AnswerWords = {}) {
    this.#shell = new EventShell(omission => new DescribedItems(description, words, omission, true), budget)
    this.#items = this.#shell.visitor
  }

  get omitted(): string | undefined {
    return this.#shell.omission.shape
  }

  write(chunk: Buffer): ScanResult {
    const base = this.#shell.holdback.end
    this.#shell.holdback.push(chunk)
    this.#records.read(chunk, base)
    const { end } = this.#shell.holdback
    const from = Math.min(this.#records.from, this.#items.remainder.textFrom ?? end)
    const isWhole = this.#shell.whole.holds(end - from)
    const out = this.#shell.holdback.release(this.#waits ? 0 : isWhole ? from : this.#safe(end))
    if (out.length > 0) this.#hasGone = true
    // A completely held record charges nothing until it can be delivered.
    if (!isWhole) this.#done.push(...this.#items.take())
    return { out, done: this.#take() }
  }

  /**
   * Whether the stream waits: nothing was delivered and something was omitted, so an answer without a picture can
   * still be refused.
   */
  get #waits(): boolean {
    if (this.#hasGone || this.#items.count > 0 || this.omitted === undefined) return false
    return this.#shell.holdback.end <= waitingBytesMax
  }

  #safe(end: number): number {
    const unfinished = this.#items.remainder.isLeavingOut ? undefined : this.#shell.walk.unfinished
    return Math.min(this.#items.safe(end), unfinished ?? end)
  }

  end(): ScanResult {
    this.#records.end(this.#shell.holdback.end)
    this.#items.endTexts()
    this.#items.checkEmpty()
    this.#done.push(...this.#items.take())
    return { out: this.#shell.holdback.release(this.#shell.holdback.end), done: this.#take() }
  }

  close(): void {
    this.#shell.whole.drop()
  }

  #take(): readonly FoundImage[] {
    const done = this.#done
    this.#done = []
    return done
  }

  data(piece: Buffer, base: number): void {
    const end = this.#shell.data(piece, base)
    if (end === undefined) return
    this.#items.remainder.within(this.#shell.walk, end)
    this.#items.remainder.weigh(end, false)
  }

  field(name: string, value: string, from: number, to: number): void {
    this.#shell.field(name, value, from, to)
  }

  recordEnd(next: number): void {
    if (this.#shell.recordRead()) {
      this.#items.remainder.checkLinks()
      this.#items.readTexts()
      this.#done.push(...this.#items.take())
    } else {
      this.#shell.omission.comment(this.#records.from, next, this.#shell.flaw ?? '')
      this.#items.drop(this.#before, next)
    }
    this.#shell.renew()
    this.#items.forget(next)
    this.#before = this.#items.count
  }
}
