/**
 * A value that one plugin provides to later plugins of the pipeline. Slots are identified by name: a plugin that has
 * loaded a second copy of this package has other objects with the same names.
 */
export type Slot<T> = { readonly name: string; readonly type?: T }

export function defineSlot<T>(name: string): Slot<T> {
  return { name }
}

/** The values of one exchange, by slot. There are so few that a list is cheaper than a Map. */
export class Slots {
  readonly #names: string[] = []
  readonly #values: unknown[] = []
  readonly #below: Slots | undefined

  /** @param below the slots with default values */
  constructor(below?: Slots) {
    this.#below = below
  }

  put<T>(slot: Slot<T>, value: T): void {
    const place = this.#names.indexOf(slot.name)
    if (place >= 0) this.#values[place] = value
    else {
      this.#names.push(slot.name)
      this.#values.push(value)
    }
  }

  get<T>(slot: Slot<T>): T | undefined {
    const place = this.#names.indexOf(slot.name)
    return place < 0 ? this.#below?.get(slot) : (this.#values[place] as T)
  }

  /**
   * The value of a slot that the pipeline check guarantees. @throws Error if it is missing: a fault of the plugin that
   * provides it
   */
  need<T>(slot: Slot<T>): T {
    const value = this.get(slot)
    if (value === undefined) throw new Error(`slot '${slot.name}' was needed but never given`)
    return value
  }
}
