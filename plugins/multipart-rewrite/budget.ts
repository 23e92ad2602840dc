/** How many bytes all requests hold together. The most they may hold is told with each taking: a reload can change it. */
export class Budget {
  #taken = 0

  /** False, and nothing taken, when more than `max` would be held. */
  take(bytes: number, max: number): boolean {
    if (this.#taken + bytes > max) return false
    this.#taken += bytes
    return true
  }

  give(bytes: number): void {
    this.#taken -= bytes
  }
}
