import type { WireCall } from './connection.ts'

/** A request that waits for a connection; it has the links of its queue. */
export type Waiter = WireCall & {
  /** It needs a connection that has carried nothing. */
  readonly isFresh: boolean
  /** The client's key: requests of one key wait for each other, and not for those of another. */
  readonly payer?: string
  /** How many may wait for a busy connection; absent for any number. */
  readonly queueMax?: number
  /** All connections were in use when it arrived. */
  isQueued?: boolean
  line: RequestQueue | undefined
  ahead: Waiter | undefined
  behind: Waiter | undefined
  /** The order of arrival, over several queues. */
  turn: number
  /** Since when it waits, in monotonic milliseconds. */
  since?: number
}

/** The requests of one key that wait, in order. */
type Queue = { size: number; first: Waiter | undefined; last: Waiter | undefined }

/**
 * The queue. Keys take turns, and the requests of one key go in order. Joining, leaving and being served take constant
 * time.
 */
export class RequestQueue {
  size = 0
  /** By key; the first one has the next turn. */
  readonly #queues = new Map<string, Queue>()

  /** The next to be served. */
  get first(): Waiter | undefined {
    for (const { first } of this.#queues.values()) return first
    return undefined
  }

  join(waiter: Waiter): void {
    const payer = payerOf(waiter)
    let queue = this.#queues.get(payer)
    if (!queue) {
      queue = { size: 0, first: undefined, last: undefined }
      this.#queues.set(payer, queue)
    }
    waiter.line = this
    waiter.ahead = queue.last
    waiter.behind = undefined
    if (queue.last) queue.last.behind = waiter
    else queue.first = waiter
    queue.last = waiter
    queue.size++
    this.size++
  }

  /** It leaves because it is its turn: the next turn is another key's. */
  serve(waiter: Waiter): void {
    this.leave(waiter)
    const payer = payerOf(waiter)
    const queue = this.#queues.get(payer)
    if (!queue) return
    this.#queues.delete(payer)
    this.#queues.set(payer, queue)
  }

  /** Idempotent. */
  leave(waiter: Waiter): void {
    if (waiter.line !== this) return
    const payer = payerOf(waiter)
    const queue = this.#queues.get(payer) as Queue
    const { ahead, behind } = waiter
    if (ahead) ahead.behind = behind
    else queue.first = behind
    if (behind) behind.ahead = ahead
    else queue.last = ahead
    waiter.line = undefined
    waiter.ahead = undefined
    waiter.behind = undefined
    queue.size--
    this.size--
    if (queue.size === 0) this.#queues.delete(payer)
  }

  /** The one that is served after so many others. */
  after(count: number): Waiter | undefined {
    let left = count
    const heads = [...this.#queues.values()].map(({ first }) => first)
    while (heads.some(head => head !== undefined))
      for (const [i, head] of heads.entries()) {
        if (!head) continue
        if (left-- === 0) return head
        heads[i] = head.behind
      }
    return undefined
  }

  /** How many requests of one key wait. */
  countOf(payer: string | undefined): number {
    return this.#queues.get(payer ?? '')?.size ?? 0
  }

  /** The last request of the key with the most waiting requests. */
  get mostCrowded(): Waiter | undefined {
    let most: Queue | undefined
    for (const queue of this.#queues.values()) if (queue.size > (most?.size ?? 0)) most = queue
    return most?.last
  }
}

function payerOf({ payer = '' }: Waiter): string {
  return payer
}
