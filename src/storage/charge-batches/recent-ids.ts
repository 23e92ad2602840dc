/**
 * The ids added in the last `windowMs`. A false match occurs once in many thousand lookups; no id is dropped early.
 * Each id takes four bytes, whatever its length.
 */
export class RecentIds {
  readonly #windowMs: number
  #young = new Tags()
  #old = new Tags()
  #youngSince = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** @returns true if it was added before */
  note(id: string, at: number): boolean {
    this.#turn(at)
    const tag = tagOf(id)
    if (this.#young.has(tag)) return true
    // One of the older ids was added again, or this is a false match.
    this.#young.add(tag)
    return this.#old.has(tag)
  }

  #turn(at: number): void {
    if (at >= this.#youngSince && at - this.#youngSince <= this.#windowMs) return
    // If the clock is set back, ids stay in their set.
    if (at > this.#youngSince) {
      this.#old = this.#young
      this.#young = new Tags()
    }
    this.#youngSince = at
  }
}

/** Non-zero integers in an open-addressing table that is at most half full. */
class Tags {
  #places = new Int32Array(1024)
  #count = 0

  has(tag: number): boolean {
    return this.#places[this.#placeOf(tag)] === tag
  }

  add(tag: number): void {
    this.#places[this.#placeOf(tag)] = tag
    if (++this.#count * 2 > this.#places.length) this.#grow()
  }

  /** The position of a tag, or the free position for it. */
  #placeOf(tag: number): number {
    const last = this.#places.length - 1
    let place = tag & last
    while (this.#places[place] !== 0 && this.#places[place] !== tag) place = (place + 1) & last
    return place
  }

  #grow(): void {
    const before = this.#places
    this.#places = new Int32Array(before.length * 2)
    for (const tag of before) if (tag !== 0) this.#places[this.#placeOf(tag)] = tag
  }
}

/** The length of the part that differs between ids of the same minute. */
const tailLength = 16

/** FNV-1a of the end: http://www.isthe.com/chongo/tech/comp/fnv */
function tagOf(id: string): number {
  let tag = 0x811c9dc5
  for (let i = Math.max(0, id.length - tailLength); i < id.length; i++)
    tag = Math.imul(tag ^ id.charCodeAt(i), 0x01000193)
  return tag === 0 ? 1 : tag
}
