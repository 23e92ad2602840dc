/**
 * Which ids it was shown in the last `windowMs`. It may take one for another, once in many thousand times, and never
 * forgets one early: four bytes for each, whatever the ids are.
 */
export class RecentIds {
  readonly #windowMs: number
  #young = new Tags()
  #old = new Tags()
  #youngSince = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** @returns true when it was shown before */
  note(id: string, at: number): boolean {
    this.#turn(at)
    const tag = tagOf(id)
    if (this.#young.has(tag)) return true
    // Of those that grow old it is one that was shown now: itself, or another that it was taken for.
    this.#young.add(tag)
    return this.#old.has(tag)
  }

  #turn(at: number): void {
    if (at >= this.#youngSince && at - this.#youngSince <= this.#windowMs) return
    // A clock that goes back makes nothing older.
    if (at > this.#youngSince) {
      this.#old = this.#young
      this.#young = new Tags()
    }
    this.#youngSince = at
  }
}

/** Whole numbers other than 0, in a table of open places that is never more than half full. */
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

  /** Its position, or the one that it would have. */
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

/** Where ids differ that were made in one minute. */
const tailLength = 16

/** FNV-1a of the end: http://www.isthe.com/chongo/tech/comp/fnv */
function tagOf(id: string): number {
  let tag = 0x811c9dc5
  for (let i = Math.max(0, id.length - tailLength); i < id.length; i++)
    tag = Math.imul(tag ^ id.charCodeAt(i), 0x01000193)
  return tag === 0 ? 1 : tag
}
