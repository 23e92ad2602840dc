import type { Json } from '../../src/plugin-api/index.ts'
import { JsonWalk, type JsonVisitor } from '../../src/wire/index.ts'

/** The maximum length of a value that is read; a usage object has a few hundred bytes. */
const valueBytesMax = 65_536
/** The maximum number of elements of a list that are read. */
const elementsMax = 1_000

export type Wanted = {
  /** Top-level members, each read completely. */
  readonly members: ReadonlySet<string>
  /** Top-level lists, in which some members of each element are read. */
  readonly lists?: ReadonlySet<string>
  /** The members of those elements. */
  readonly ofElements?: ReadonlySet<string>
}

/**
 * Reads some top-level members of a JSON object as it passes in pieces of any size, so megabytes of numbers or text
 * use no memory. For a list of objects, reads the members of each element, one after another.
 */
export class MemberReader implements JsonVisitor {
  readonly loose = true
  readonly #wanted: Wanted
  readonly #found: (name: string, value: Json) => void
  readonly #walk = new JsonWalk(this)
  /** The wanted member that is being read; it stays set if its value is too long. */
  #open: string | undefined
  #list: Json[] | undefined
  #element: { [name: string]: Json } = {}

  constructor(wanted: Wanted, found: (name: string, value: Json) => void) {
    this.#wanted = wanted
    this.#found = found
  }

  /** Whether the text is a list instead of an object. */
  get isList(): boolean {
    return this.#walk.objects[1] === false
  }

  /** The depth of the members that are read. */
  get #top(): number {
    return this.isList ? 2 : 1
  }

  write(piece: Buffer): void {
    this.#walk.walk(piece, 0)
  }

  name({ name, depth }: JsonWalk): 'skip' | number | undefined {
    const { members, lists, ofElements } = this.#wanted
    if (depth !== this.#top) return ofElements?.has(name) ? valueBytesMax : 'skip'
    this.#endMember()
    if (members.has(name)) {
      this.#open = name
      return valueBytesMax
    }
    return lists?.has(name) ? undefined : 'skip'
  }

  kept({ name, depth }: JsonWalk, bytes: Buffer): void {
    if (depth === this.#top) this.#open = undefined
    try {
      const value = JSON.parse(bytes.toString()) as Json
      if (depth === this.#top) this.#found(name, value)
      else this.#element[name] = value
    } catch (error) {
      // An answer that is not JSON has no usage.
      if (!(error instanceof SyntaxError)) throw error
    }
  }

  /** In a list, only objects have members to read. */
  opened({ depth }: JsonWalk, isObject: boolean): 'skip' | 'rest' | undefined {
    if (depth === this.#top && this.#walk.objects[depth]) {
      if (isObject) return 'skip'
      this.#list = []
      return undefined
    }
    if (!isObject) return 'skip'
    if (depth !== this.#top + 1) return undefined
    if ((this.#list?.length ?? 0) >= elementsMax) return 'rest'
    this.#element = {}
    return undefined
  }

  closed({ names }: JsonWalk, depth: number): void {
    if (depth === this.#top) this.#endMember()
    const list = this.#list
    if (!list) return
    if (depth === this.#top + 2) list.push(this.#element)
    if (depth !== this.#top + 1) return
    this.#list = undefined
    this.#found(names[this.#top] as string, list)
  }

  /** An error that is too long to read is one. */
  #endMember(): void {
    if (this.#open === 'error') this.#found('error', 'too long')
    this.#open = undefined
  }

  string(): 'skip' {
    return 'skip'
  }

  bytes(): void {}

  bytesEnd(): void {}
}
