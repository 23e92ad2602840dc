/** An entry of the vendor's own ledger, with which a bill can be compared. Amounts are decimal dollars. */
export type Made = {
  /** The vendor's id of the request, as in `x-request-id` of its response. */
  readonly request: string
  readonly model: string
  readonly prompt: string
  /** Pictures that were made and sent, including those whose client left before it received them. */
  readonly pictures: readonly MadePicture[]
  /** The number of pictures that were requested and not made. */
  readonly failed: number
  /** The vendor's whole charge, from the simulator's list of prices; '0' for models without a price. */
  readonly cost: string
}

export type MadePicture = {
  readonly width: number
  readonly height: number
  readonly format: string
  readonly price: string
}

const keptMax = 20_000

/** One entry of the ledger while it is written. */
export class Entry {
  readonly request: string
  readonly model: string
  readonly prompt: string
  readonly pictures: MadePicture[] = []
  failed = 0
  #ticks = 0n

  constructor(request: string, model: string, prompt: string) {
    this.request = request
    this.model = model
    this.prompt = prompt
  }

  add(picture: MadePicture): void {
    this.pictures.push(picture)
    this.charge(picture.price)
  }

  charge(amount: string): void {
    this.#ticks += ticksOf(amount)
  }

  /** In units of 1e-10 dollars. */
  get ticks(): bigint {
    return this.#ticks
  }

  summary(): Made {
    const { request, model, prompt, pictures, failed } = this
    return { request, model, prompt, pictures, failed, cost: decimalOf(this.#ticks) }
  }
}

export class Ledger {
  readonly #entries: Entry[] = []
  readonly #turns = new Map<string, number>()

  /** The number of requests with this prompt, including this one. */
  turn(prompt: string): number {
    const turn = (this.#turns.get(prompt) ?? 0) + 1
    this.#turns.delete(prompt)
    this.#turns.set(prompt, turn)
    const [oldest] = this.#turns.keys()
    if (this.#turns.size > keptMax && oldest !== undefined) this.#turns.delete(oldest)
    return turn
  }

  open(request: string, model: string, prompt: string): Entry {
    const entry = new Entry(request, model, prompt)
    this.#entries.push(entry)
    if (this.#entries.length > keptMax) this.#entries.shift()
    return entry
  }

  /** @param prompt limits the summary to this prompt; null for all prompts */
  summary(prompt: string | null): { pictures: number; failed: number; cost: string; made: readonly Made[] } {
    const found = this.#entries.filter(entry => prompt === null || entry.prompt === prompt)
    return {
      pictures: found.reduce((sum, { pictures }) => sum + pictures.length, 0),
      failed: found.reduce((sum, { failed }) => sum + failed, 0),
      cost: decimalOf(found.reduce((sum, { ticks }) => sum + ticks, 0n)),
      made: found.map(entry => entry.summary()),
    }
  }
}

const ticksPerDollar = 10_000_000_000n

function ticksOf(amount: string): bigint {
  const [units = '0', parts = ''] = amount.split('.')
  return BigInt(units) * ticksPerDollar + BigInt(parts.padEnd(10, '0').slice(0, 10))
}

function decimalOf(ticks: bigint): string {
  let parts = String(ticks % ticksPerDollar).padStart(10, '0')
  while (parts.endsWith('0')) parts = parts.slice(0, -1)
  return `${ticks / ticksPerDollar}${parts && '.'}${parts}`
}

/** A price multiplied by a count. */
export function times(amount: string, count: number): string {
  return decimalOf(ticksOf(amount) * BigInt(count))
}

export function sum(...amounts: readonly string[]): string {
  return decimalOf(amounts.reduce((total, amount) => total + ticksOf(amount), 0n))
}
