import type { JsonWalk } from '../../src/wire/index.ts'
import type { Omission } from './omission.ts'

/** Members whose name marks a link to an image. */
const imageName = /image|picture|photo|^result$/i
/** Types of objects whose links lead to images. */
const imageType = /image/i
/** The maximum text between a link and the end of its object. */
const heldBytesMax = 4 * 1024 * 1024

type Link = { readonly from: number; to: number | undefined; readonly path: string }

/**
 * Finds links in texts of tools and models. A link leads to an image if a member on its path, or the type of an
 * enclosing object, indicates it. The type may come after the link, so it is held until then. Such a link is omitted.
 */
export class ToolLinks {
  readonly #omission: Omission
  #links: Link[] = []
  /** By depth: the number of links before the open container. */
  readonly #before: number[] = []
  /** The depths of objects whose type indicates an image. */
  readonly #typed = new Set<number>()

  constructor(omission: Omission) {
    this.#omission = omission
  }

  /**
   * Adds a link that begins at `from` and has arrived up to `to`. @returns whether it is omitted; its remainder
   * follows
   */
  add(walk: JsonWalk, from: number, to: number, isInItem: boolean): boolean {
    const path = `${walk.path()} (a link)`
    for (let depth = 1; depth <= walk.depth; depth++)
      if (imageName.test(walk.names[depth] as string)) {
        this.#omission.begin(from, to, path)
        return true
      }
    if (isInItem) this.#links.push({ from, to: undefined, path })
    return false
  }

  /** Ends a string, which may be the last link. */
  end(to: number): void {
    const last = this.#links.at(-1)
    if (last) last.to ??= to
  }

  /** Begins a container of that depth. */
  open(depth: number): void {
    this.#before[depth] = this.#links.length
  }

  /** Records the type of the current object. */
  type(walk: JsonWalk, text: string): void {
    if (imageType.test(text)) this.#typed.add(walk.depth)
  }

  /** Ends a container of that depth: the links of an image are omitted. */
  close(depth: number): void {
    if (!this.#typed.delete(depth)) return
    for (const link of this.#links.splice(this.#before[depth] ?? 0)) this.#leaveOut(link, link.to ?? link.from)
  }

  /** Ends the item of the links, which lead to no image. */
  forget(): void {
    this.#links = []
    this.#before.length = 0
  }

  /**
   * The offset up to which bytes may be delivered; the last received byte precedes `end`. Links are omitted if too
   * much would be held.
   */
  safe(end: number): { readonly safe: number; readonly isOmitted: boolean } {
    const [first] = this.#links
    if (!first) return { safe: end, isOmitted: false }
    if (end - first.from <= heldBytesMax) return { safe: first.from, isOmitted: false }
    const isOmitted = this.#links.at(-1)?.to === undefined
    for (const link of this.#links) this.#leaveOut(link, end)
    this.#links = []
    this.#before.fill(0)
    return { safe: end, isOmitted }
  }

  #leaveOut({ from, to, path }: Link, end: number): void {
    if (to === undefined) this.#omission.begin(from, end, path)
    else this.#omission.string(from, to, path)
  }
}
