import type { JsonWalk } from '../../src/wire/index.ts'
import { JsonShell } from './scan-shells.ts'
import { type ScanResult, type Scanner, Unrecognised } from './scan-result.ts'
import { ToolResults } from './tool-results.ts'

/**
 * Finds the images that tools created in an answer `{"output":[{"type":…,"result":…}, …]}` as it passes. For each
 * image it holds back the last 4 KiB and everything after, until its object has ended and its charge is committed.
 */
export class ToolAnswerScanner implements Scanner {
  readonly #shell: JsonShell<ToolResults>

  /** With `endUnknown`, only closed JSON proves that the answer is complete. */
  constructor({ endUnknown = false }: { readonly endUnknown?: boolean } = {}) {
    this.#shell = new JsonShell(omission => new ToolResults(placeOf, omission), endUnknown)
  }

  get omitted(): string | undefined {
    return this.#shell.omission.shape
  }

  write(chunk: Buffer): ScanResult {
    const { holdback, omission, visitor, walk } = this.#shell
    if (!this.#shell.read(chunk, false)) throw new Unrecognised('no JSON object')
    const { end } = holdback
    if (walk.followed) omission.rest(walk.followedAt, end, 'data after the JSON object')
    return { out: holdback.release(Math.min(visitor.safe(end), walk.unfinished ?? end)), done: visitor.take() }
  }

  /** An answer without text passes. */
  end(): ScanResult {
    const { holdback, visitor } = this.#shell
    this.#shell.checkWhole()
    return { out: holdback.release(holdback.end), done: visitor.take() }
  }
}

/** The place of an object in an answer, where every object is a separate image, whatever its id. */
function placeOf({ objects, names }: JsonWalk, depth: number): 'each' | undefined {
  return depth === 3 && names[1] === 'output' && !objects[2] && objects[3] ? 'each' : undefined
}
