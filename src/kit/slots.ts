/** What one plugin gives to those below it in the pipeline. The name is what `needs` and `gives` are checked by. */
export type Slot<T> = { readonly name: string; readonly type?: T }

export function defineSlot<T>(name: string): Slot<T> {
  return { name }
}

/** The values of one exchange, by slot. */
export class Slots {
  #values = new Map<Slot<unknown>, unknown>()

  put<T>(slot: Slot<T>, value: T): void {
    this.#values.set(slot, value)
  }

  get<T>(slot: Slot<T>): T | undefined {
    return this.#values.get(slot) as T | undefined
  }

  /** The value of a slot that the pipeline check promised. @throws Error when it was never put: a fault of the giver. */
  need<T>(slot: Slot<T>): T {
    const value = this.#values.get(slot)
    if (value === undefined) throw new Error(`slot '${slot.name}' was needed but never given`)
    return value as T
  }
}
