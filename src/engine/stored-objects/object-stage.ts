import type { ListedMembers, ObjectTraits, Passed, Stage } from '../../domain/index.ts'
import { type FoundId, IdReader } from './id-reader.ts'
import { membersOf, parseObject } from '../../util/index.ts'

type Creates = NonNullable<ObjectTraits['creates']>

/** Delays chunks with a new object id until the object is recorded: clients may use an id immediately. */
export class ObjectStage implements Stage {
  readonly letsGo = true
  readonly #reader: IdReader
  readonly #record: (found: readonly FoundId[]) => Promise<void>
  readonly #known = new Set<string>()
  #fresh: FoundId[] = []

  /** @param record resolves once the objects are durable */
  constructor(creates: Creates, inEvents: boolean, record: (found: readonly FoundId[]) => Promise<void>) {
    this.#record = record
    this.#reader = new IdReader(creates, inEvents, found => {
      const name = `${found.kind} ${found.id}`
      if (this.#known.has(name)) return
      this.#known.add(name)
      this.#fresh.push(found)
    })
  }

  write(chunk: Buffer): Passed | Promise<Passed> {
    this.#reader.write(chunk)
    if (this.#fresh.length === 0) return chunk
    const fresh = this.#fresh
    this.#fresh = []
    return this.#record(fresh).then(() => chunk)
  }

  end(): Passed {
    return []
  }
}

type Shown = { readonly [name: string]: unknown }

/** Longest object JSON that is stored for lists. */
const shownBytesMax = 65_536

/** Holds a small response until its object is recorded together with its JSON for lists. */
export class ListedObjectStage implements Stage {
  readonly #members: ListedMembers
  readonly #record: (id: string, shown: Shown) => Promise<Shown>
  readonly #held: Buffer[] = []
  #bytes = 0
  #isHeld = true

  /** @param record resolves once the object is durable, to the object for the client */
  constructor(members: ListedMembers, record: (id: string, shown: Shown) => Promise<Shown>) {
    this.#members = members
    this.#record = record
  }

  write(chunk: Buffer): Passed {
    if (!this.#isHeld) return chunk
    this.#held.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes <= shownBytesMax) return []
    // Real objects of this kind are shorter. A longer response passes without a record.
    this.#isHeld = false
    return this.#held
  }

  async end(): Promise<Passed> {
    if (!this.#isHeld) return []
    const { inside, id: name } = this.#members
    const whole = parseObject(Buffer.concat(this.#held))
    const object = inside === undefined ? whole : membersOf(whole?.[inside])
    const id = object?.[name]
    if (!object || typeof id !== 'string' || id === '') return this.#held
    const shown = await this.#record(id, object)
    if (shown === object) return this.#held
    return [Buffer.from(JSON.stringify(inside === undefined ? shown : { ...whole, [inside]: shown }))]
  }
}
