import { DescribedItems } from './described-items.ts'
import type { Description } from './described-places.ts'
import type { AnswerWords } from './remainder.ts'
import { JsonShell } from './scan-shells.ts'
import type { ScanResult, Scanner } from './scan-result.ts'

/**
 * The maximum number of bytes before the first picture that wait for it, so that an answer without a picture can be
 * refused.
 */
const waitingBytesMax = 1024 * 1024

export type DescribedOptions = AnswerWords & {
  /** Only closed JSON proves that the answer is complete. */
  readonly endUnknown?: boolean
}

/**
 * Finds the pictures of an answer in its vendor's own format as it passes, byte for byte. For each picture it holds
 * back the last 4 KiB and everything after, until its item has ended, it is known whether the picture belongs to the
 * answer, and its charge is committed. Links are held completely. A stream may also arrive as a list of such answers.
 * Memory is constant: 4 KiB and the piece that contains them, the item's members after its picture (8 MiB at most),
 * and the bytes before the first picture (1 MiB at most).
 */
export class DescribedScanner implements Scanner {
  readonly letsGo = true
  readonly #shell: JsonShell<DescribedItems>
  readonly #items: DescribedItems
  #released = false

  constructor(description: Description, { endUnknown = false, ...words }: DescribedOptions = {}) {
    this.#shell = new JsonShell(omission => new DescribedItems(description, words, omission, false), endUnknown)
    this.#items = this.#shell.visitor
  }

  get omitted(): string | undefined {
    return this.#shell.omission.shape
  }

  write(chunk: Buffer): ScanResult {
    const { holdback, walk } = this.#shell
    if (!this.#shell.read(chunk, this.#released)) return { out: [], done: [] }
    const { end } = holdback
    const { remainder } = this.#items
    if (walk.followed) this.#shell.cut(this.#items.count)
    else remainder.within(walk, end)
    remainder.weigh(end, !this.#released && !this.#items.begun)
    this.#items.takeTexts()
    const unfinished = remainder.isLeavingOut ? undefined : walk.unfinished
    const safe = Math.min(this.#items.safe(end), unfinished ?? end)
    this.#released ||= this.#items.begun || end - holdback.from > waitingBytesMax
    return { out: holdback.release(this.#released ? safe : 0), done: this.#items.take() }
  }

  end(): ScanResult {
    const { holdback, walk } = this.#shell
    this.#shell.end()
    this.#items.endTexts()
    this.#items.remainder.checkLinks()
    if (walk.complete) this.#items.checkEmpty()
    return { out: holdback.release(holdback.end), done: this.#items.take() }
  }
}
