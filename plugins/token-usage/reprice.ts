import type { Charge, Repriced, RepriceAsk, UsageRule } from '../../src/kit/index.ts'
import { isFree } from './is-free.ts'
import { priceByRule } from './price-use.ts'
import type { UsageFacet } from './schema.ts'
import { usageRule } from './usage-rule.ts'

/** What the use of a stored charge costs by other prices: each quantity as it was counted then, whoever counted it. */
export function reprice(
  charge: Charge,
  { model, multiplier, operation, traits }: RepriceAsk,
  facet: UsageFacet,
): Repriced {
  if (model.free || isFree({ operation, traits }, facet)) return { amount: 0 }
  const rule = usageRule(model, multiplier)
  if (!rule) return { reason: 'charged_otherwise' }
  const used = new Used(charge)
  const isApart = hasPrice(rule, 'cached_input')
  let amount = 0
  for (const { unit } of rule.prices) {
    const quantity = used.quantityOf(unit, isApart)
    if (quantity === undefined) return { reason: 'measure_not_kept' }
    amount += priceByRule(rule, unit, quantity)
  }
  return { amount }
}

/** What a charge knows of the use that it is for: units that had a price, and no others. */
class Used {
  readonly #rule: UsageRule
  readonly #quantities = new Map<string, number>()

  constructor({ rule, lines }: Charge) {
    // Charges of this kind are written by this plugin alone.
    this.#rule = rule as UsageRule
    for (const { tier, quantity } of lines)
      this.#quantities.set(tier, (this.#quantities.get(tier) ?? 0) + (quantity ?? 0))
  }

  /** Undefined where nobody has kept it. `isApart`: input that came from a cache is counted by itself. */
  quantityOf(unit: string, isApart: boolean): number | undefined {
    if (unit === 'input') return this.#inputOf(isApart)
    if (unit === 'cached_input') return this.#cached()
    return this.#kept(unit)
  }

  /** There was none where a price has no line. */
  #kept(unit: string): number | undefined {
    return hasPrice(this.#rule, unit) ? (this.#quantities.get(unit) ?? 0) : undefined
  }

  #inputOf(isApart: boolean): number | undefined {
    const input = this.#kept('input')
    const cached = this.#kept('cached_input')
    if (input === undefined || (cached !== undefined) === isApart) return input
    // It was apart and is a part of the input now; or the other way round, of which nobody knows how much it was.
    if (cached !== undefined) return input + cached
    return input === 0 ? 0 : undefined
  }

  #cached(): number | undefined {
    return this.#kept('cached_input') ?? (this.#kept('input') === 0 ? 0 : undefined)
  }
}

function hasPrice({ prices }: UsageRule, unit: string): boolean {
  return prices.some(row => row.unit === unit)
}
