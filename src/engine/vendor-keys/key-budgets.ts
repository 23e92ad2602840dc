import { type PlainPeriod, type KeySpending, periodStartsAt, type VendorKey } from '../../domain/index.ts'
import { requestOfCharge } from '../../plugin-api/index.ts'
import type { Clock, Micros } from '../../util/index.ts'

/** Requests whose charges may still arrive, and whose keys are remembered: the latest. */
const openMax = 200_000
/** Charges by the keys of lists: each may get a budget in the middle of a period. */
export class KeyBudgets {
  readonly #clock: Pick<Clock, 'now'>
  readonly #zone: string
  readonly #spent = new Map<string, Micros>()
  /** By the request. */
  readonly #open = new Map<string, VendorKey>()

  /** `zone`: the zone of budget days and months. */
  constructor(clock: Pick<Clock, 'now'>, zone = 'UTC') {
    this.#clock = clock
    this.#zone = zone
  }

  hasRoom({ id, budget }: VendorKey): boolean {
    if (!budget) return true
    return this.#spentIn(id, budget.per) < budget.amount
  }

  /** A request is about to be sent with a key. */
  asks(request: string, key: VendorKey): void {
    if (key.isOnly === true) {
      // A refusal of an earlier key is not its own.
      this.forget(request)
      return
    }
    if (!this.#open.has(request) && this.#open.size >= openMax)
      this.#open.delete(this.#open.keys().next().value as string)
    this.#open.set(request, key)
  }

  /** The cost of a request no longer belongs to the key that it used: another is tried. */
  forget(request: string): void {
    if (this.#open.size > 0) this.#open.delete(request)
  }

  /** A charge has ended. @returns its key, if that is one of a list */
  charged(charge: string, amount: Micros): VendorKey | undefined {
    if (this.#open.size === 0) return undefined
    // Use in addition to pictures is a charge of its own.
    const key = this.#open.get(charge) ?? this.#open.get(requestOfCharge(charge))
    if (!key || amount <= 0) return undefined
    const now = this.#clock.now()
    for (const per of ['total', 'day', 'month'] as const)
      this.#add(`${key.id} ${per} ${this.#beginOf(per, now)}`, amount)
    return key
  }

  #add(id: string, amount: Micros): void {
    this.#spent.set(id, (this.#spent.get(id) ?? 0) + amount)
  }

  /** The spending of all processes from the storage. It may lack what this one added a moment ago. */
  learn(all: readonly KeySpending[]): void {
    for (const { upstream, key, per, from, spent } of all) {
      const id = `${upstream}/${key} ${per} ${from}`
      this.#spent.set(id, Math.max(spent, this.#spent.get(id) ?? 0))
    }
  }

  /** The part of its budget that is spent now. */
  spentOf({ id, budget }: VendorKey): Micros {
    return budget ? this.#spentIn(id, budget.per) : 0
  }

  #spentIn(id: string, per: PlainPeriod): Micros {
    return this.#spent.get(`${id} ${per} ${this.#beginOf(per, this.#clock.now())}`) ?? 0
  }

  /** The name of the period; 0 for a budget in total. */
  #beginOf(per: PlainPeriod, at: number): number {
    return per === 'total' ? 0 : periodStartsAt(at, this.#zone)[per]
  }
}
