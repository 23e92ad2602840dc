/** Names that are each given once: a repeated one gets the next free number. */
export class FreeNames {
  readonly #taken = new Set<string>()
  readonly #next = new Map<string, number>()

  take(base: string): string {
    let name = base
    let i = this.#next.get(base) ?? 2
    while (this.#taken.has(name)) name = `${base}-${i++}`
    this.#taken.add(name)
    this.#next.set(base, i)
    return name
  }
}
