import { type Fields, fieldsOf } from './fields.ts'

/**
 * A mapping of a foreign file that records what was read of it: what was neither used nor reported is left, so that
 * nothing of the file can be forgotten.
 */
export class Tracked {
  /** Its place, for people; empty for the whole file. */
  readonly path: string
  readonly #value: unknown
  #fields: Fields
  readonly #taken = new Set<string>()
  readonly #below = new Map<string, readonly Tracked[]>()
  #isReported = false

  constructor(value: unknown, path = '') {
    this.#value = value
    this.#fields = fieldsOf(value)
    this.path = path
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#fields, key) && this.#fields[key] !== null && this.#fields[key] !== undefined
  }

  keys(): readonly string[] {
    return Object.keys(this.#fields)
  }

  /** What a mapping under a key has, without using it. */
  peek(key: string): Fields {
    return fieldsOf(this.#fields[key])
  }

  /** The text of a key, without using it. */
  peekText(key: string): string | undefined {
    const value = this.#fields[key]
    return typeof value === 'string' ? value : undefined
  }

  /** The value of a key, which counts as used from then on, with all below it. */
  take(key: string): unknown {
    this.#taken.add(key)
    return this.has(key) ? this.#fields[key] : undefined
  }

  /** The text of a key; what is none is left. */
  takeText(key: string): string | undefined {
    const value = this.#fields[key]
    return typeof value === 'string' && value !== '' ? (this.take(key) as string) : undefined
  }

  /** The value of a key as it is read; what cannot be read so is left. */
  takeAs<T>(key: string, read: (value: unknown) => T | undefined): T | undefined {
    const found = this.has(key) ? read(this.#fields[key]) : undefined
    if (found !== undefined) this.#taken.add(key)
    return found
  }

  /** The mapping under a key, whose own keys are watched. */
  in(key: string): Tracked {
    const [known] = this.#below.get(key) ?? []
    if (known) return known
    const made = new Tracked(this.has(key) ? this.#fields[key] : undefined, this.#placeOf(key))
    this.#below.set(key, [made])
    return made
  }

  /** The mappings of the list under a key, each tracked; undefined where there is no list. */
  each(key: string): readonly Tracked[] | undefined {
    const known = this.#below.get(key)
    if (known) return known
    const list = this.has(key) ? this.#fields[key] : undefined
    if (!Array.isArray(list)) return undefined
    const made = list.map((one, i) => new Tracked(one, `${this.#placeOf(key)}[${i}]`))
    this.#below.set(key, made)
    return made
  }

  /** More fields that it has from elsewhere; its own come first. They are no part of what is left. */
  lend(fields: Fields): void {
    const own = new Set(this.keys().filter(key => this.has(key)))
    for (const key of Object.keys(fields)) if (!own.has(key)) this.#taken.add(key)
    this.#fields = { ...fields, ...Object.fromEntries([...own].map(key => [key, this.#fields[key]])) }
  }

  /** All of it has been reported in other words. */
  report(): void {
    this.#isReported = true
  }

  /** The places of what was not used: a mapping that was not read is one place. */
  left(): readonly string[] {
    if (this.#isReported || this.#value === undefined || this.#value === null) return []
    if (typeof this.#value !== 'object' || Array.isArray(this.#value)) return [this.path]
    return this.keys().flatMap(key => {
      if (this.#taken.has(key) || !this.has(key)) return []
      return this.#below.get(key)?.flatMap(one => one.left()) ?? [this.#placeOf(key)]
    })
  }

  #placeOf(key: string): string {
    return this.path === '' ? key : `${this.path}.${key}`
  }
}
