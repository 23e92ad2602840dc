/**
 * What one plugin gives to those below it in the pipeline. The name is the slot: a plugin that has loaded a second copy of
 * this package has other objects of the same names.
 */
export type Slot<T> = { readonly name: string; readonly type?: T }

export function defineSlot<T>(name: string): Slot<T> {
  return { name }
}

/** The values of one exchange, by slot: a handful, which costs less to look through than a Map to make. */
export class Slots {
  readonly #names: string[] = []
  readonly #values: unknown[] = []
  readonly #below: Slots | undefined

  /** @param below its value if nothing was put here */
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

  /** The value of a slot that the pipeline check promised. @throws Error when it was never put: a fault of the giver. */
  need<T>(slot: Slot<T>): T {
    const value = this.get(slot)
    if (value === undefined) throw new Error(`slot '${slot.name}' was needed but never given`)
    return value
  }
}
