import type { LimitRequest, LimitStatus } from '../../../domain/index.ts'

/** A larger script would block other clients of the server. */
const operationsMax = 64

export type LimitAnswer = { readonly taken: boolean; readonly statuses: readonly LimitStatus[] }

/** The demand of a ticket, and the amount of it that was used. */
export type Used = readonly [demand: LimitRequest, amount: number]

/** Runs the script of a turn; if it rejects, `operations` is how many failed with it. */
export type SendTurn = (
  keys: readonly string[],
  args: readonly (string | number)[],
  operations: number,
) => Promise<unknown>

type Asking = {
  readonly how: 'peek' | 'take'
  readonly ticket: string
  readonly demands: readonly LimitRequest[]
  readonly resolve: (answer: LimitAnswer) => void
  readonly reject: (error: unknown) => void
}

type Settling = {
  readonly ticket: string
  readonly used: readonly Used[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Collects the calls of one turn of the event loop and sends them in one script: simultaneous calls share a script, and
 * a lone request does not wait.
 */
export class Turn {
  readonly #tag: string
  readonly #send: SendTurn
  readonly #later: (say: () => void) => void
  readonly #onIdle: (() => void) | undefined
  #asking: Asking[] = []
  #settling: Settling[] = []
  #isDue = false
  #unanswered = 0
  /** The newest call that was sent; earlier ones were answered before, or failed by themselves. */
  #sent: Promise<unknown> = Promise.resolve()

  /**
   * All commands here use the hash tag. `later` runs its argument in the next turn of the event loop; `onIdle` is
   * called when nothing is left to send and all calls were answered.
   */
  constructor(tag: string, send: SendTurn, later: (say: () => void) => void = setImmediate, onIdle?: () => void) {
    this.#tag = tag
    this.#send = send
    this.#later = later
    this.#onIdle = onIdle
  }

  ask(how: 'peek' | 'take', ticket: string, demands: readonly LimitRequest[]): Promise<LimitAnswer> {
    return new Promise((resolve, reject) => {
      this.#asking.push({ how, ticket, demands, resolve, reject })
      this.#schedule()
    })
  }

  /** Resolves when the report was sent. */
  settle(ticket: string, used: readonly Used[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settling.push({ ticket, used, resolve, reject })
      this.#schedule()
    })
  }

  /** Sends the remaining calls; resolves when all of them were answered or have failed. */
  async end(): Promise<void> {
    this.#flush()
    await this.#sent
  }

  #schedule(): void {
    if (this.#asking.length + this.#settling.length >= operationsMax) this.#flush()
    if (this.#isDue) return
    this.#isDue = true
    this.#later(() => {
      this.#isDue = false
      this.#flush()
      this.#rest()
    })
  }

  #rest(): void {
    if (this.#unanswered === 0 && !this.#isDue) this.#onIdle?.()
  }

  #flush(): void {
    const [asking, settling] = [this.#asking, this.#settling]
    if (asking.length + settling.length === 0) return
    this.#asking = []
    this.#settling = []
    const { keys, args } = wordsOf(this.#tag, asking, settling)
    this.#unanswered++
    this.#sent = this.#send(keys, args, asking.length + settling.length).then(
      reply => {
        this.#unanswered--
        for (const { resolve } of settling) resolve()
        answer(asking, reply as readonly number[])
        this.#rest()
      },
      (error: unknown) => {
        this.#unanswered--
        for (const { reject } of settling) reject(error)
        for (const { reject } of asking) reject(error)
        this.#rest()
      },
    )
  }
}

export function keyOf(tag: string, { id, kind }: LimitRequest): string {
  return `${tag}:${kind}:${id}`
}

export function sumKeyOf(key: string): string {
  return `${key}:sum`
}

/** Lists each counter once, however many demands name it. */
class CounterNumbers {
  readonly windows = new Map<string, number>()
  readonly places = new Map<string, number>()
  readonly #tag: string

  constructor(tag: string) {
    this.#tag = tag
  }

  of(demand: LimitRequest): number {
    const [numbers, sign] = demand.kind === 'window' ? [this.windows, 1] : [this.places, -1]
    const key = keyOf(this.#tag, demand)
    let number = numbers.get(key)
    if (number === undefined) {
      number = sign * (numbers.size + 1)
      numbers.set(key, number)
    }
    return number
  }

  get keys(): string[] {
    const windows = [...this.windows.keys()]
    return [...windows, ...windows.map(sumKeyOf), ...this.places.keys()]
  }
}

/** As `turnScript` expects them. */
function wordsOf(tag: string, asking: readonly Asking[], settling: readonly Settling[]) {
  const numbers = new CounterNumbers(tag)
  const words: (string | number)[] = []
  for (const { ticket, used } of settling) {
    words.push(ticket, used.length)
    for (const [demand, amount] of used) words.push(numbers.of(demand), demand.amount, amount)
  }
  for (const { how, ticket, demands } of asking) {
    words.push(how, ticket, demands.length)
    for (const demand of demands) {
      const { limit, amount, shadow } = demand
      words.push(numbers.of(demand), limit, amount, Number(shadow))
    }
  }
  return { keys: numbers.keys, args: [numbers.windows.size, settling.length, ...words] }
}

function answer(asking: readonly Asking[], reply: readonly number[]): void {
  let at = 0
  for (const { demands, resolve } of asking) {
    const taken = reply[at++] === 1
    const statuses = demands.map(() => ({
      remaining: reply[at++] as number,
      waitMs: Math.ceil((reply[at++] as number) / 1000),
      resetMs: Math.ceil((reply[at++] as number) / 1000),
    }))
    resolve({ taken, statuses })
  }
}
