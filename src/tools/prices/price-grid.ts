import { type PriceConditions, type RowOverride, type UnitName, units } from '../../domain/index.ts'
import { type Micros, parseMoney } from '../../util/index.ts'

/** The conditions of a price that is not that of an ordinary request. */
export type Cell = {
  /** As in answers: `priority`, `flex`, `batch`. */
  readonly tier?: string | undefined
  /** The input tokens that the request has to exceed; if the grid is inclusive, to reach. */
  readonly above?: number | undefined
}

/** Earlier tiers come first; requests without a tier come last. */
const tierOrder = ['ultrafast', 'priority', 'balanced', 'flex', 'batch']
/** Other names of a tier at upstreams. */
const tierNames: { readonly [tier: string]: readonly string[] } = { priority: ['priority', 'fast'] }

/**
 * Prices of tokens by service tier and by the size of the request, as tables list them: one field for each combination.
 * A missing combination has the price of the nearest one in the table; if two are equally near, the higher price.
 */
export class PriceGrid {
  readonly #prices = new Map<string, Map<UnitName, string>>()
  readonly #tiers = new Set<string>()
  readonly #sizes = new Set<number>()
  readonly #condition: 'input_above' | 'input_from'

  /** @param isInclusive a request of exactly the size already has the higher price */
  constructor(isInclusive = false) {
    this.#condition = isInclusive ? 'input_from' : 'input_above'
  }

  /** @param price a decimal in the form of the configuration */
  set(unit: UnitName, price: string, { tier, above }: Cell = {}): void {
    if (tier !== undefined) this.#tiers.add(tier)
    if (above !== undefined) this.#sizes.add(above)
    const key = keyOf({ tier, above })
    const cell = this.#prices.get(key) ?? new Map<UnitName, string>()
    this.#prices.set(key, cell)
    cell.set(unit, price)
  }

  get(unit: UnitName, cell: Cell = {}): string | undefined {
    return this.#prices.get(keyOf(cell))?.get(unit)
  }

  get hasConditions(): boolean {
    return this.#tiers.size > 0 || this.#sizes.size > 0
  }

  /** Ordinary prices, by the names of `models.NAME.prices`. */
  prices(): { readonly [label: string]: string } {
    return Object.fromEntries(
      [...units.keys()].flatMap(unit => {
        const price = this.get(unit as UnitName)
        return price === undefined || this.#isParents(unit as UnitName) ? [] : [[unit, price]]
      }),
    )
  }

  /** The prices that replace them, the narrower condition first. */
  overrides(): readonly RowOverride[] {
    const tiers = [...this.#tiers].toSorted((a, b) => tierOrder.indexOf(a) - tierOrder.indexOf(b))
    const sizes = [...this.#sizes].toSorted((a, b) => b - a)
    return [...tiers, undefined].flatMap(tier => {
      const plain = tier === undefined ? {} : this.#differing({ tier })
      const all = sizes.map(above => ({ cell: { tier, above }, prices: this.#differing({ tier, above }) }))
      const own = all.filter(({ prices }) => tier === undefined || !isSame(prices, plain))
      const last = tier === undefined ? [] : [{ cell: { tier }, prices: plain }]
      return [...own, ...last].map(({ cell, prices }) => ({ if: this.#conditionsOf(cell), prices }))
    })
  }

  #conditionsOf({ tier, above }: Cell): PriceConditions {
    return {
      ...(tier !== undefined && { service_tier: tierNames[tier] ?? tier }),
      ...(above !== undefined && { [this.#condition]: above }),
    }
  }

  /** The prices that differ from those of an ordinary request; if none does, one price shows that the tier is known. */
  #differing(cell: Cell): { readonly [label: string]: string } {
    const found = [...units.keys()].flatMap(name => {
      const unit = name as UnitName
      const price = this.#valueOf(unit, cell)
      if (price === undefined) return []
      const same = this.#isParents(unit) ? this.#valueOf(parentOf(unit) as UnitName, cell) : this.get(unit)
      return same !== undefined && micros(same) === micros(price) ? [] : [[unit, price] as const]
    })
    const [any] = [...units.keys()].flatMap(unit => {
      const price = this.#valueOf(unit as UnitName, cell)
      return price === undefined ? [] : [[unit, price] as const]
    })
    return Object.fromEntries(found.length > 0 || !any ? found : [any])
  }

  /** The price of a unit in a cell; undefined if its parent's price applies. */
  #valueOf(unit: UnitName, cell: Cell): string | undefined {
    const own = this.get(unit, cell)
    if (own !== undefined || (cell.tier === undefined && cell.above === undefined)) return own
    const parent = parentOf(unit)
    if (parent !== undefined && this.#goesByParent(unit, parent, cell)) return this.#valueOf(parent, cell)
    const { tier, above } = cell
    const smaller = above === undefined ? undefined : Math.max(...[...this.#sizes].filter(size => size < above))
    const below = smaller === undefined ? undefined : { tier, above: Number.isFinite(smaller) ? smaller : undefined }
    return dearer(tier === undefined ? undefined : this.#valueOf(unit, { above }), below && this.#valueOf(unit, below))
  }

  /**
   * A unit with the price of its parent has that price in every tier; reasoning tokens have the output price of a tier.
   */
  #goesByParent(unit: UnitName, parent: UnitName, { tier }: Cell): boolean {
    const [own, theirs] = [this.get(unit), this.get(parent)]
    if (own === undefined) return false
    if (theirs !== undefined && micros(own) === micros(theirs)) return true
    return unit === 'reasoning' && tier !== undefined && this.get(parent, { tier }) !== undefined
  }

  /** A unit with the price of its parent needs no price, unless its price would then not be shown. */
  #isParents(unit: UnitName): boolean {
    const parent = parentOf(unit)
    const [own, theirs] = [this.get(unit), parent && this.get(parent)]
    if (own === undefined || theirs === undefined || units.get(unit)?.inherits !== true) return false
    return micros(own) === micros(theirs)
  }
}

function keyOf({ tier = '', above = 0 }: Cell): string {
  return `${tier} ${above}`
}

function parentOf(unit: UnitName): UnitName | undefined {
  return units.get(unit)?.parent as UnitName | undefined
}

function micros(price: string): Micros {
  return parseMoney(price) as Micros
}

function dearer(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return micros(one) < micros(other) ? other : one
}

function isSame(one: { readonly [label: string]: string }, other: { readonly [label: string]: string }): boolean {
  const labels = Object.keys(one)
  return labels.length === Object.keys(other).length && labels.every(label => one[label] === other[label])
}
