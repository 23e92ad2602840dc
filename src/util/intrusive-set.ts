/** A member of at most one set at a time: it stores its own index. */
export type Member = {
  /** Its index; -1 if it is in no set. Written by the set. */
  place: number
}

/**
 * A set whose members are added and removed in constant time, in no order. A `Set` whose members change with each
 * request keeps whole requests in memory until a major collection, which took a fifth of a request's time
 * (`docs/performance.md`).
 */
export class IntrusiveSet<T extends Member> {
  readonly #members: T[] = []

  get size(): number {
    return this.#members.length
  }

  /** Idempotent. */
  add(member: T): void {
    if (member.place >= 0) return
    member.place = this.#members.push(member) - 1
  }

  /** Idempotent. */
  delete(member: T): void {
    const { place } = member
    if (place < 0) return
    const last = this.#members.pop() as T
    if (last !== member) {
      this.#members[place] = last
      last.place = place
    }
    member.place = -1
  }

  /**
   * Calls `visit` for each member that is present at its turn. If members are added or removed meanwhile, one may be
   * visited twice, and a new one may be visited too.
   */
  each(visit: (member: T) => void): void {
    // From the end: the member that replaces a removed one was already visited, or will be.
    for (let place = this.#members.length - 1; place >= 0; place--) {
      const member = this.#members[place]
      if (member) visit(member)
    }
  }
}
