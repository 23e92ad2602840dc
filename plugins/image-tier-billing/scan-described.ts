import { Holdback, JsonWalk } from '../../src/wire/index.ts'
import { DescribedItems } from './described-items.ts'
import type { Description } from './described-places.ts'
import { refuseForeign } from './foreign-answer.ts'
import { Omission } from './omission.ts'
import type { AnswerWords } from './remainder.ts'
import { type Scanned, type Scanner, Unreadable, Unrecognised } from './scanned.ts'

/** Words before the first picture wait for it, so that an answer that has none can be refused; longer ones do not. */
const waitingBytesMax = 1024 * 1024

export type DescribedOptions = AnswerWords & {
  /** Only JSON that closes proves that the answer is whole. */
  readonly endUnknown?: boolean
}

/**
 * Finds the pictures of an answer in its vendor's own style as it passes, byte for byte, and holds back of each the last
 * 4 KiB and all that follows until its item is over, it is known whether it is a picture of the answer, and its charge is
 * committed. Links are held whole. What streams are read as may also come as a list of such answers. Memory is
 * constant: 4 KiB and the piece they lie in, what an item says behind its picture (8 MiB at most), and what stands before the
 * first one (1 MiB).
 */
export class DescribedScanner implements Scanner {
  readonly letsGo = true
  readonly #endUnknown: boolean
  readonly #holdback = new Holdback()
  readonly #omission = new Omission(this.#holdback)
  readonly #items: DescribedItems
  readonly #walk: JsonWalk
  #released = false

  constructor(description: Description, { endUnknown = false, ...words }: DescribedOptions = {}) {
    this.#endUnknown = endUnknown
    this.#items = new DescribedItems(description, words, this.#omission, false)
    this.#walk = new JsonWalk(this.#items)
  }

  get omitted(): string | undefined {
    return this.#omission.shape
  }

  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#omission.base = base
    this.#walk.walk(chunk, base)
    const { fault, foreign, followed } = this.#walk
    if (fault !== undefined) throw new Unreadable(fault)
    if (foreign && this.#released) throw new Unreadable('it is not JSON')
    if (foreign) {
      refuseForeign(this.#holdback, false)
      return { out: [], done: [] }
    }
    const { end } = this.#holdback
    const { remainder } = this.#items
    if (followed) this.#cut(end)
    else remainder.within(this.#walk, end)
    remainder.weigh(end, !this.#released && !this.#items.begun)
    this.#items.takeTexts()
    const unfinished = remainder.isLeavingOut ? undefined : this.#walk.unfinished
    const safe = Math.min(this.#items.safe(end), unfinished ?? end)
    this.#released ||= this.#items.begun || end - this.#holdback.from > waitingBytesMax
    return { out: this.#holdback.release(this.#released ? safe : 0), done: this.#items.take() }
  }

  /** What follows the answer is not part of it. */
  #cut(end: number): void {
    const shape = 'something behind the JSON object'
    if (this.#items.count === 0) throw new Unrecognised(shape)
    this.#omission.rest(this.#walk.followedAt, end, shape)
  }

  end(): Scanned {
    const { complete, open } = this.#walk
    if (this.#walk.foreign) refuseForeign(this.#holdback, true)
    if (open) throw new Unreadable('it ends before its JSON does')
    if (this.#endUnknown && !complete) throw new Unreadable('nothing says whether it is whole')
    if (!complete) refuseForeign(this.#holdback, true)
    this.#items.endTexts()
    this.#items.remainder.checkLinks()
    if (complete) this.#items.checkEmpty()
    return { out: this.#holdback.release(this.#holdback.end), done: this.#items.take() }
  }
}
