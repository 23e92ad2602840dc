import type { JsonWalk } from '../../src/wire/index.ts'
import { Unrecognised } from './scanned.ts'

/** Members by whose name a link leads to an image. */
const imageName = /image|picture|photo|^result$/i
/** Types of objects whose links do. */
const imageType = /image/i
/** What is told between a link and the end of its object is text. */
const heldBytesMax = 4 * 1024 * 1024

type Link = { readonly from: number; readonly depth: number; readonly path: string }

/**
 * Links in what tools and models tell. One leads to an image where a member on its way says so, or the type of an object that
 * it stands in, which may come after it: until then it is held.
 */
export class ToolLinks {
  /** Where the first one stands. */
  #first: Link | undefined
  /** Those that stand deeper than all before them: of an object that ends, the first one in it is asked for. */
  #deeper: Link[] = []
  /** How deep the objects are whose type speaks of an image. */
  readonly #typed = new Set<number>()

  /** A link stands at `from`. @throws Unrecognised when its name leads to an image */
  add(walk: JsonWalk, from: number, isInItem: boolean): void {
    const path = `${walk.path()} (a link)`
    for (let depth = 1; depth <= walk.depth; depth++)
      if (imageName.test(walk.names[depth] as string)) throw new Unrecognised(path)
    if (!isInItem) return
    const link = { from, depth: walk.depth, path }
    this.#first ??= link
    if (link.depth > (this.#deeper.at(-1)?.depth ?? 0)) this.#deeper.push(link)
  }

  /** The object that the walk is in says what it is. */
  type(walk: JsonWalk, text: string): void {
    if (imageType.test(text)) this.#typed.add(walk.depth)
  }

  /** A container that was `depth` deep is over. @throws Unrecognised when it was an image's, and has a link */
  close(depth: number): void {
    if (!this.#typed.delete(depth)) return
    const link = this.#deeper.find(one => one.depth >= depth)
    if (link) throw new Unrecognised(link.path)
  }

  /** The item that the links stand in is over: they lead elsewhere. */
  forget(): void {
    this.#first = undefined
    this.#deeper = []
  }

  /** Up to where bytes may go, of which the last stands before `end`. @throws Unrecognised when too much would be held */
  safe(end: number): number {
    if (!this.#first) return end
    if (end - this.#first.from > heldBytesMax) throw new Unrecognised(this.#first.path)
    return this.#first.from
  }
}
