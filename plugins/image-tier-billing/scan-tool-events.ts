import { type ByteBudget, type JsonWalk, RecordReader, type RecordVisitor } from '../../src/wire/index.ts'
import { type FoundImage, type ScanResult, type Scanner, Unreadable } from './scan-result.ts'
import { EventShell } from './scan-shells.ts'
import { ToolResults } from './tool-results.ts'

/** The depth of an object in the list: `response`, `output`, its list, the object. */
const listed = 4

/**
 * Finds the images that tools created in an event stream as it passes: in `item`, and in `response.output`, where only
 * images count that no earlier event contained. Every record is held completely up to the blank line that ends it,
 * because no event parser can use it before, until its images are committed. If the budget for complete records is
 * used up, everything passes except the last 4 KiB of an image and everything after. Previews have no `result` and are
 * never billed.
 */
export class ToolEventScanner implements RecordVisitor, Scanner {
  readonly #shell: EventShell<ToolResults>
  readonly #records = new RecordReader(this)
  readonly #results: ToolResults
  #done: FoundImage[] = []

  constructor(budget: ByteBudget) {
    this.#shell = new EventShell(omission => new ToolResults(placeOf, omission), budget)
    this.#results = this.#shell.visitor
  }

  get omitted(): string | undefined {
    return this.#shell.omission.shape
  }

  write(chunk: Buffer): ScanResult {
    const base = this.#shell.holdback.end
    this.#shell.holdback.push(chunk)
    this.#records.read(chunk, base)
    const { end } = this.#shell.holdback
    const isWhole = this.#shell.whole.holds(end - this.#records.from)
    const out = this.#shell.holdback.release(isWhole ? this.#records.from : this.#safe(end))
    // A completely held record charges nothing until it can be delivered.
    if (!isWhole) this.#done.push(...this.#results.take())
    return { out, done: this.#take() }
  }

  #safe(end: number): number {
    return Math.min(this.#results.safe(end), this.#shell.walk.unfinished ?? end)
  }

  end(): ScanResult {
    this.#records.end(this.#shell.holdback.end)
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
    this.#shell.data(piece, base)
  }

  field(): void {}

  recordEnd(): void {
    if (this.#shell.walk.open) throw new Unreadable('an event ends before its JSON does')
    this.#done.push(...this.#results.take())
    this.#results.begin()
    this.#shell.renew()
  }
}

function placeOf({ objects, names }: JsonWalk, depth: number): 'event' | 'list' | undefined {
  if (!objects[depth]) return undefined
  if (depth === 2) return names[1] === 'item' ? 'event' : undefined
  if (depth !== listed || objects[3]) return undefined
  return names[1] === 'response' && names[2] === 'output' ? 'list' : undefined
}
