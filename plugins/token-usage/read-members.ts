import type { Json } from '../../src/kit/index.ts'
import { JsonWalk, type JsonVisitor } from '../../src/wire/index.ts'

/** The longest value that is read; a usage object has a few hundred bytes. */
const valueBytesMax = 65_536

/**
 * Reads some top-level members of a JSON object as it passes in pieces of any size, and nothing else of it: megabytes of
 * numbers or text cost no memory. Of a list of objects, those of each element, one after another.
 */
export class MemberReader implements JsonVisitor {
  readonly loose = true
  readonly #wanted: ReadonlySet<string>
  readonly #found: (name: string, value: Json) => void
  readonly #walk = new JsonWalk(this)

  constructor(wanted: ReadonlySet<string>, found: (name: string, value: Json) => void) {
    this.#wanted = wanted
    this.#found = found
  }

  /** The text is a list, not an object. */
  get isList(): boolean {
    return this.#walk.objects[1] === false
  }

  write(piece: Buffer): void {
    this.#walk.walk(piece, 0)
  }

  name({ name }: JsonWalk): 'skip' | number {
    return this.#wanted.has(name) ? valueBytesMax : 'skip'
  }

  kept({ name }: JsonWalk, bytes: Buffer): void {
    try {
      this.#found(name, JSON.parse(bytes.toString()) as Json)
    } catch (error) {
      // An answer that is no JSON has no usage.
      if (!(error instanceof SyntaxError)) throw error
    }
  }

  /** In a list at the top only objects have members. */
  opened(_walk: JsonWalk, isObject: boolean): 'skip' | undefined {
    return isObject ? undefined : 'skip'
  }

  string(): 'skip' {
    return 'skip'
  }

  bytes(): void {}

  bytesEnd(): void {}
}
