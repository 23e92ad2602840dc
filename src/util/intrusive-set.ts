/** What can be in one set at a time: it carries its own index. */
export type Member = {
  /** Its index; -1 in none. The roster writes it. */
  place: number
}

/**
 * Who is there now: members come and go in constant time, in no order. A `Set` in which members of one request's life
 * come and go keeps whole requests alive until a major collection, and a fifth of a request's time went there
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
   * Calls `visit` with everyone who is there and stays until its turn; while others come and leave during the visit, one
   * may be visited again, and one that has just come may be too.
   */
  each(visit: (member: T) => void): void {
    // From the end: the member that takes the place of one that leaves has had its turn, or has it yet.
    for (let place = this.#members.length - 1; place >= 0; place--) {
      const member = this.#members[place]
      if (member) visit(member)
    }
  }
}
