import type { JsonWalk } from '../../src/wire/index.ts'
import type { Omission } from './omission.ts'

/** Members by whose name a link leads to an image. */
const imageName = /image|picture|photo|^result$/i
/** Types of objects whose links do. */
const imageType = /image/i
/** What comes between a link and the end of its object is text. */
const heldBytesMax = 4 * 1024 * 1024

type Link = { readonly from: number; to: number | undefined; readonly path: string }

/**
 * Links in what tools and models tell. One leads to an image where a member on its way says so, or the type of an object that
 * it stands in, which may come after it: until then it is held. Such a link is left out.
 */
export class ToolLinks {
  readonly #omission: Omission
  #links: Link[] = []
  /** By depth, how many links preceded the container that is open there. */
  readonly #before: number[] = []
  /** How deep the objects are whose type speaks of an image. */
  readonly #typed = new Set<number>()

  constructor(omission: Omission) {
    this.#omission = omission
  }

  /** A link is at `from`, and has come as far as `to`. @returns whether it is left out: the rest of it is to follow */
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

  /** A string is over, which may be the last link. */
  end(to: number): void {
    const last = this.#links.at(-1)
    if (last) last.to ??= to
  }

  /** A container begins that will be `depth` deep. */
  open(depth: number): void {
    this.#before[depth] = this.#links.length
  }

  /** The object that the walk is in says what it is. */
  type(walk: JsonWalk, text: string): void {
    if (imageType.test(text)) this.#typed.add(walk.depth)
  }

  /** A container that was `depth` deep is over: the links of an image's go. */
  close(depth: number): void {
    if (!this.#typed.delete(depth)) return
    for (const link of this.#links.splice(this.#before[depth] ?? 0)) this.#leaveOut(link, link.to ?? link.from)
  }

  /** The item of the links is over: they lead elsewhere. */
  forget(): void {
    this.#links = []
    this.#before.length = 0
  }

  /** Up to where bytes may go, of which the last precedes `end`. Where too much would be held, links are left out. */
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
