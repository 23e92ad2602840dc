import type { Json } from '../../src/plugin-api/index.ts'
import { JsonWalk, type JsonVisitor } from '../../src/wire/index.ts'

/** The maximum length of a string that may contain usage or an error. */
const stringBytesMax = 1_024
/** The maximum depth of countable values: a source in the metadata of a candidate. */
const deepest = 7
/** The maximum number of elements of a list; the others are omitted. */
const elementsMax = 512

type Members = { [name: string]: Json }

/**
 * Reads a large event without unneeded content: long strings become empty, lists short, and levels deeper than usage
 * are dropped. @returns undefined for anything but a JSON object
 */
export function pruneEvent(data: Buffer): Json | undefined {
  const pruned = new PrunedEvent()
  const walk = new JsonWalk(pruned)
  try {
    walk.walk(data, 0)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  return walk.complete && !walk.followed ? pruned.root : undefined
}

class PrunedEvent implements JsonVisitor {
  readonly root = createMembers()
  /** By depth: the current containers. */
  readonly #open: (Members | Json[])[] = [[], this.root]
  #text = ''

  string(walk: JsonWalk): 'bytes' | 'rest' {
    this.#text = ''
    return this.#isFull(walk) ? 'rest' : 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    if (to - from <= stringBytesMax) this.#text = piece.toString('utf8', from, to)
  }

  bytesEnd(walk: JsonWalk): void {
    this.#put(walk, JSON.parse(`"${this.#text}"`) as Json)
  }

  scalar(walk: JsonWalk, value: string): 'rest' | undefined {
    if (this.#isFull(walk)) return 'rest'
    this.#put(walk, JSON.parse(value) as Json)
    return undefined
  }

  opened(walk: JsonWalk, isObject: boolean): 'skip' | 'rest' | undefined {
    if (this.#isFull(walk)) return 'rest'
    const value = isObject ? createMembers() : []
    this.#put(walk, value)
    if (walk.depth >= deepest) return 'skip'
    this.#open[walk.depth + 1] = value
    return undefined
  }

  #isFull({ depth }: JsonWalk): boolean {
    const open = this.#open[depth]
    return Array.isArray(open) && open.length >= elementsMax
  }

  #put({ depth, name }: JsonWalk, value: Json): void {
    const open = this.#open[depth]
    if (Array.isArray(open)) open.push(value)
    else if (open) open[name] = value
  }
}

/** An object without a prototype, so that `__proto__` is an ordinary name. */
function createMembers(): Members {
  return Object.create(null) as Members
}
