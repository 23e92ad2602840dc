import { type Fields, fieldsOf } from './fields.ts'

/**
 * A mapping of a foreign file that records which keys were read: keys that were neither used nor reported are left
 * over, so that no setting is lost silently.
 */
export class Tracked {
  /** Its path, for messages; empty for the whole file. */
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

  /** The mapping under a key, without using it. */
  peek(key: string): Fields {
    return fieldsOf(this.#fields[key])
  }

  /** The text of a key, without using it. */
  peekText(key: string): string | undefined {
    const value = this.#fields[key]
    return typeof value === 'string' ? value : undefined
  }

  /** The value of a key; marks it and everything below it as used. */
  take(key: string): unknown {
    this.#taken.add(key)
    return this.has(key) ? this.#fields[key] : undefined
  }

  /** The text of a key; a value that is not a text is not marked as used. */
  takeText(key: string): string | undefined {
    const value = this.#fields[key]
    return typeof value === 'string' && value !== '' ? (this.take(key) as string) : undefined
  }

  /** The converted value of a key; a value that cannot be converted is not marked as used. */
  takeAs<T>(key: string, read: (value: unknown) => T | undefined): T | undefined {
    const found = this.has(key) ? read(this.#fields[key]) : undefined
    if (found !== undefined) this.#taken.add(key)
    return found
  }

  /** The mapping under a key, whose own keys are tracked. */
  in(key: string): Tracked {
    const [known] = this.#below.get(key) ?? []
    if (known) return known
    const made = new Tracked(this.has(key) ? this.#fields[key] : undefined, this.#placeOf(key))
    this.#below.set(key, [made])
    return made
  }

  /** The mappings of the list under a key, each tracked; undefined if there is no list. */
  each(key: string): readonly Tracked[] | undefined {
    const known = this.#below.get(key)
    if (known) return known
    const list = this.has(key) ? this.#fields[key] : undefined
    if (!Array.isArray(list)) return undefined
    const made = list.map((one, i) => new Tracked(one, `${this.#placeOf(key)}[${i}]`))
    this.#below.set(key, made)
    return made
  }

  /** Adds fields from elsewhere; the mapping's own fields take precedence. They do not count as left over. */
  lend(fields: Fields): void {
    const own = new Set(this.keys().filter(key => this.has(key)))
    for (const key of Object.keys(fields)) if (!own.has(key)) this.#taken.add(key)
    this.#fields = { ...fields, ...Object.fromEntries([...own].map(key => [key, this.#fields[key]])) }
  }

  /** Marks all of it as reported. */
  report(): void {
    this.#isReported = true
  }

  /** The paths of unused keys: an unread mapping is one path. */
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
