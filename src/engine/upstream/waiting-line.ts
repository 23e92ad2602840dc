import type { Asker } from './connection.ts'

/** One that waits for a connection; links of the line that it stands in are its own. */
export type Waiter = Asker & {
  /** It is to have a connection that has carried nothing. */
  readonly isFresh: boolean
  line: WaitingLine | undefined
  ahead: Waiter | undefined
  behind: Waiter | undefined
  /** Who came before whom, over several lines. */
  turn: number
  /** Since when it waits, in monotonic milliseconds. */
  since?: number
}

/** Who waits, in order. Joining and leaving, from any place, takes the same time however many wait. */
export class WaitingLine {
  size = 0
  #first: Waiter | undefined
  #last: Waiter | undefined

  get first(): Waiter | undefined {
    return this.#first
  }

  join(waiter: Waiter): void {
    waiter.line = this
    waiter.ahead = this.#last
    waiter.behind = undefined
    if (this.#last) this.#last.behind = waiter
    else this.#first = waiter
    this.#last = waiter
    this.size++
  }

  /** Idempotent. */
  leave(waiter: Waiter): void {
    if (waiter.line !== this) return
    const { ahead, behind } = waiter
    if (ahead) ahead.behind = behind
    else this.#first = behind
    if (behind) behind.ahead = ahead
    else this.#last = ahead
    waiter.line = undefined
    waiter.ahead = undefined
    waiter.behind = undefined
    this.size--
  }
}
