const begin = Date.UTC(2026, 10, 20, 12)

/** A clock whose time and timers a test advances. */
export class HandTime {
  ms = 0
  readonly #due: { at: number; everyMs: number | undefined; run: () => void }[] = []
  readonly now = (): number => begin + this.ms
  readonly tick = (): number => this.ms
  readonly after = (ms: number, run: () => void) => this.#wait(ms, undefined, run)
  readonly every = (ms: number, run: () => void) => this.#wait(ms, ms, run)
  readonly sleep = (ms: number): Promise<void> => new Promise(resolve => void this.after(ms, resolve))

  pass(ms: number): void {
    const end = this.ms + ms
    for (;;) {
      const [next] = this.#due.toSorted((a, b) => a.at - b.at)
      if (!next || next.at > end) break
      this.ms = next.at
      if (next.everyMs === undefined) this.#due.splice(this.#due.indexOf(next), 1)
      else next.at += next.everyMs
      next.run()
    }
    this.ms = end
  }

  #wait(ms: number, everyMs: number | undefined, run: () => void) {
    const one = { at: this.ms + ms, everyMs, run }
    this.#due.push(one)
    return { cancel: () => void (this.#due.includes(one) && this.#due.splice(this.#due.indexOf(one), 1)) }
  }
}
