import type { Charge, ChargeFacts, ChargeRule, Line, Settlement } from '../../kit/index.ts'
import type { Value } from '../query.ts'
import { factValues } from './fact-values.ts'
import { lineValues } from './line.ts'

/** As many wait at most before new charges are refused; those of requests under way still come on top. */
const waitingMax = 50_000
/** One group of charges costs its commit a few milliseconds. */
const together = 256

/** A charge that is known wholly: what it is for, and what it comes to. */
export type Posting = {
  readonly facts: ChargeFacts
  readonly lines: readonly Line[]
  readonly delivery: Settlement['delivery']
  readonly at: number
}

/** A charge as plain values: its facts in their order, the place of its rule, amount, number of lines, delivery, time. */
export type PostedCharge = readonly [id: string, ...Value[]]
/** A line as plain values: its charge, and the columns of `line` in their order. */
export type PostedLine = readonly [chargeId: string, ...Value[]]
/** Charges as they cross to the thread: plain values, and every rule once. */
export type Posted = {
  readonly rules: readonly string[]
  readonly charges: readonly PostedCharge[]
  readonly lines: readonly PostedLine[]
}

/**
 * Charges that nobody waits for, in the order they came. They are money: none is dropped while the process lives, one
 * whose commit is not known to have happened is written again, and when too many wait the ledger is not healthy.
 */
export class ChargeQueue {
  readonly #waiting = new Map<string, Posting>()
  #taken: readonly Posting[] = []
  /** A group was refused for what one of them holds: they go one by one until it is found. */
  #apart = 0
  #onRefused: (posting: Posting) => void = () => undefined
  /** Postings handed in, and postings that are through: written, or refused for what they hold. */
  appended = 0
  through = 0

  get size(): number {
    return this.#waiting.size - this.#taken.length
  }

  get full(): boolean {
    return this.size >= together
  }

  get overfull(): boolean {
    return this.#waiting.size >= waitingMax
  }

  /** Called with each that can never be written. */
  onRefused(call: (posting: Posting) => void): void {
    this.#onRefused = call
  }

  /** A second posting under one id is the first one again. */
  append(posting: Posting): void {
    if (this.#waiting.has(posting.facts.id)) return
    this.#waiting.set(posting.facts.id, posting)
    this.appended++
  }

  /** The next group as one text, which crosses to a thread at a fraction of what objects cost. */
  take(): string | undefined {
    if (this.size === 0) return undefined
    const taken: Posting[] = []
    const most = this.#apart > 0 ? 1 : together
    for (const posting of this.#waiting.values()) if (taken.push(posting) >= most) break
    this.#taken = taken
    return JSON.stringify(flatten(taken))
  }

  /** The group taken last is durable. */
  done(): void {
    const taken = this.#release()
    for (const { facts } of taken) this.#waiting.delete(facts.id)
    this.through += taken.length
    if (this.#apart > 0) this.#apart -= taken.length
  }

  /** The group taken last is not known to be durable and will be written again. */
  giveBack(): void {
    this.#release()
  }

  /** The group taken last was refused for what it holds. @returns the one that cannot be written, when it is known. */
  refused(): Posting | undefined {
    const taken = this.#release()
    const [only] = taken
    if (only && taken.length === 1) {
      this.#waiting.delete(only.facts.id)
      this.through++
      if (this.#apart > 0) this.#apart--
      this.#onRefused(only)
      return only
    }
    this.#apart = taken.length
    return undefined
  }

  /** A charge that still waits, as it will be. */
  find(id: string): Charge | undefined {
    const posting = this.#waiting.get(id)
    if (!posting) return undefined
    const { facts, lines, delivery, at } = posting
    return {
      ...facts,
      state: 'settled',
      reason: null,
      hold: 0,
      held: 0,
      amount: sumOf(lines),
      refunded: 0,
      createdAt: at,
      endedAt: at,
      delivery,
      lines,
    }
  }

  #release(): readonly Posting[] {
    const taken = this.#taken
    this.#taken = []
    return taken
  }
}

function flatten(postings: readonly Posting[]): Posted {
  const places = new Map<ChargeRule, number>()
  const charges: PostedCharge[] = []
  const lines: PostedLine[] = []
  for (const { facts, lines: own, delivery, at } of postings) {
    let place = places.get(facts.rule)
    if (place === undefined) places.set(facts.rule, (place = places.size))
    charges.push([...factValues(facts), place, sumOf(own), own.length, delivery, at])
    for (const line of own) lines.push(lineValues(facts.id, line))
  }
  return { rules: [...places.keys()].map(rule => JSON.stringify(rule)), charges, lines }
}

/** What lines come to, in micro-units. */
export function sumOf(lines: readonly Line[]): number {
  return lines.reduce((sum, line) => sum + line.price, 0)
}
