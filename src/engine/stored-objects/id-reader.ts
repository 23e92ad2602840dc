import type { ObjectKind, ObjectTraits } from '../../domain/index.ts'
import { type JsonVisitor, JsonWalk, RecordReader } from '../../wire/index.ts'

/** Object kind and id from a response. */
export type FoundId = { readonly kind: ObjectKind; readonly id: string }

type Creates = NonNullable<ObjectTraits['creates']>

/** With quotes. Longer ids are not recorded. Gateways that name an upstream in their ids write some hundred bytes. */
const idBytesMax = 1026
/** Events to skip: text deltas contain no new ids. */
const pieces = /(?:\.|block_)delta$/

/** Extracts the ids of stored objects from a response while its chunks pass through. */
export class IdReader implements JsonVisitor {
  readonly #creates: Creates
  readonly #inEvents: boolean
  readonly #found: (found: FoundId) => void
  readonly #records: RecordReader | undefined
  #walk: JsonWalk
  #isPassed = false

  constructor(creates: Creates, inEvents: boolean, found: (found: FoundId) => void) {
    this.#creates = creates
    this.#inEvents = inEvents
    this.#found = found
    this.#walk = new JsonWalk(this)
    this.#records = inEvents
      ? new RecordReader({
          data: piece => this.#data(piece),
          field: (name, value) => void (name === 'event' && (this.#isPassed = pieces.test(value))),
          recordEnd: () => this.#nextRecord(),
        })
      : undefined
  }

  write(chunk: Buffer): void {
    if (this.#records) this.#records.read(chunk, 0)
    else this.#walk.walk(chunk, 0)
  }

  #data(piece: Buffer): void {
    if (!this.#isPassed) this.#walk.walk(piece, 0)
  }

  #nextRecord(): void {
    this.#isPassed = false
    this.#walk = new JsonWalk(this)
  }

  /** Depth of the object's members. */
  #topOf({ names }: JsonWalk): number {
    return this.#inEvents && names[1] === this.#creates.inside ? 2 : 1
  }

  name(walk: JsonWalk): 'skip' | number | undefined {
    const { depth, name, names } = walk
    const { inside, parts, member } = this.#creates
    if (member) return this.#nameOfMember(walk, member)
    if (this.#inEvents && depth === 1 && (name === inside || name === parts?.inside)) return undefined
    if (this.#inEvents && depth === 2 && names[1] === parts?.inside) return this.#isPart(name) ? idBytesMax : 'skip'
    const top = this.#topOf(walk)
    if (this.#inEvents && inside !== undefined && top === 1) return 'skip'
    if (depth === top) return name === 'id' ? idBytesMax : name === parts?.at ? undefined : 'skip'
    return depth === top + 2 && this.#isPart(name) ? idBytesMax : 'skip'
  }

  #nameOfMember({ depth, name, names }: JsonWalk, member: NonNullable<Creates['member']>): 'skip' | number | undefined {
    const top = this.#inEvents ? 2 : 1
    if (depth < top && member.inside.includes(name)) return undefined
    if (depth === top && name === member.name) return undefined
    return depth === top + 1 && names[top] === member.name && name === 'id' ? idBytesMax : 'skip'
  }

  #isPart(name: string): boolean {
    return this.#creates.parts?.members[name] !== undefined
  }

  kept(walk: JsonWalk, bytes: Buffer): void {
    const id = readText(bytes)
    if (id === undefined) return
    const { names, depth, name } = walk
    const { kind, parts, member } = this.#creates
    if (member) return this.#found({ kind, id })
    const isPart = (this.#inEvents && names[1] === parts?.inside) || depth > this.#topOf(walk)
    const found = isPart ? parts?.members[name] : kind
    if (found) this.#found({ kind: found, id })
  }

  string(): 'skip' {
    return 'skip'
  }

  bytes(): void {}

  bytesEnd(): void {}
}

function readText(bytes: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'string' && value !== '' ? value : undefined
  } catch {
    return undefined
  }
}
