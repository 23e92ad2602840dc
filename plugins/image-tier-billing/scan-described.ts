import { Holdback, JsonWalk } from '../../src/wire/index.ts'
import { DescribedItems } from './described-items.ts'
import type { Description } from './described-places.ts'
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
  readonly #items: DescribedItems
  readonly #walk: JsonWalk
  #released = false

  constructor(description: Description, { endUnknown = false, ...words }: DescribedOptions = {}) {
    this.#endUnknown = endUnknown
    this.#items = new DescribedItems(description, words, description.streams)
    this.#walk = new JsonWalk(this.#items)
  }

  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#walk.walk(chunk, base)
    const { fault, foreign, followed } = this.#walk
    if (fault !== undefined) throw new Unreadable(fault)
    if (foreign) throw new Unrecognised('no JSON object')
    if (followed) throw new Unrecognised('something behind the JSON object')
    const { end } = this.#holdback
    this.#items.remainder.weigh(end, this.#items.count + 1)
    const safe = this.#items.safe(end)
    this.#released ||= this.#items.begun || end - this.#holdback.from > waitingBytesMax
    return { out: this.#holdback.release(this.#released ? safe : 0), done: this.#items.take() }
  }

  end(): Scanned {
    const { complete, open } = this.#walk
    if (open) throw new Unreadable('it ends before its JSON does')
    if (this.#endUnknown && !complete) throw new Unreadable('nothing says whether it is whole')
    this.#items.remainder.checkLinks()
    this.#items.remainder.weighPieces(this.#items.count)
    if (complete) this.#items.checkEmpty()
    return { out: this.#holdback.release(this.#holdback.end), done: this.#items.take() }
  }
}
