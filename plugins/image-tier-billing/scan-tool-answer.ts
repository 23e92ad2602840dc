import { Holdback, JsonWalk } from '../../src/wire/index.ts'
import { type Scanned, type Scanner, Unreadable, Unrecognised } from './scanned.ts'
import { Omission } from './omission.ts'
import { ToolResults } from './tool-results.ts'

/**
 * Finds the images that tools made in an answer `{"output":[{"type":…,"result":…}, …]}` as it passes, and holds back of
 * each the last 4 KiB and all that follows until its object has ended and its charge is committed.
 */
export class ToolAnswerScanner implements Scanner {
  readonly #endUnknown: boolean
  readonly #holdback = new Holdback()
  readonly #omission = new Omission(this.#holdback)
  readonly #results = new ToolResults(placeOf, this.#omission)
  readonly #walk = new JsonWalk(this.#results)

  /** With `endUnknown`, only closed JSON proves that the answer is complete. */
  constructor({ endUnknown = false }: { readonly endUnknown?: boolean } = {}) {
    this.#endUnknown = endUnknown
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
    if (foreign) throw new Unrecognised('no JSON object')
    const { end } = this.#holdback
    if (followed) this.#omission.rest(this.#walk.followedAt, end, 'something behind the JSON object')
    const safe = Math.min(this.#results.safe(end), this.#walk.unfinished ?? end)
    return { out: this.#holdback.release(safe), done: this.#results.take() }
  }

  end(): Scanned {
    if (this.#walk.open) throw new Unreadable('it ends before its JSON does')
    if (this.#endUnknown && !this.#walk.complete) throw new Unreadable('nothing says whether it is whole')
    return { out: this.#holdback.release(this.#holdback.end), done: this.#results.take() }
  }
}

/** In one answer every object is an image of its own, whatever its id. */
function placeOf({ objects, names }: JsonWalk, depth: number): 'each' | undefined {
  return depth === 3 && names[1] === 'output' && !objects[2] && objects[3] ? 'each' : undefined
}
