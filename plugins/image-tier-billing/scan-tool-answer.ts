import { Holdback } from './holdback.ts'
import { type Scanned, Unreadable } from './scan-images.ts'
import { type Place, ToolResults } from './tool-results.ts'
import { JsonWalk } from './walk-json.ts'

/**
 * Finds the images that tools have made in an answer `{"output":[{"type":…,"result":…}, …]}` as it passes, and holds back
 * of each the last 4 KiB and all that follows until its object has ended and its charge is committed.
 */
export class ToolAnswerScanner {
  readonly #endUnknown: boolean
  readonly #holdback = new Holdback()
  readonly #results = new ToolResults(placeOf)
  readonly #walk = new JsonWalk(this.#results)

  /** With `endUnknown`, only JSON that closes proves that the answer is whole. */
  constructor({ endUnknown = false }: { readonly endUnknown?: boolean } = {}) {
    this.#endUnknown = endUnknown
  }

  /** @throws Unreadable when the bytes cannot be JSON. */
  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#walk.walk(chunk, base)
    if (this.#walk.fault !== undefined) throw new Unreadable(this.#walk.fault)
    return { out: this.#holdback.release(this.#results.safe(this.#holdback.end)), done: this.#results.take() }
  }

  /** The answer is complete. @throws Unreadable when its JSON is not. */
  end(): Scanned {
    const { foreign, complete, depth } = this.#walk
    if (!foreign && !complete && depth > 0) throw new Unreadable('it ends before its JSON does')
    if (this.#endUnknown && !complete) throw new Unreadable('nothing says whether it is whole')
    return { out: this.#holdback.release(this.#holdback.end), done: this.#results.take() }
  }
}

/** In one answer every object is an image of its own, whatever its id. */
function placeOf({ depth, objects, names }: JsonWalk): Place {
  const is = depth === 3 && objects[1] && names[1] === 'output' && !objects[2] && objects[3]
  return is ? 'each' : undefined
}
