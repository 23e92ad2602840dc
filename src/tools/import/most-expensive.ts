import type { Cost } from './write-config.ts'

type Prices = Extract<Cost, { readonly kind: 'prices' }>
type Override = NonNullable<Prices['overrides']>[number]

/**
 * The price that covers several costs, and is never below one of them: the highest price of each label. If one of them
 * costs something, the result is not free. Conditions that lower a price are left out, and those that raise one raise
 * it to the highest price of all.
 */
export function mostExpensive(costs: readonly Cost[]): Cost {
  const priced = costs.filter(cost => cost.kind === 'prices')
  const [first] = priced
  if (!first) return costs.find(cost => cost.kind === 'free') ?? (costs[0] as Cost)
  if (priced.every(cost => isSame(cost, first))) return first
  const prices = highest(priced)
  const overrides = raising(priced, prices)
  const times = factors(priced)
  return { kind: 'prices', prices, ...(overrides.length > 0 && { overrides }), ...(times.length > 0 && { times }) }
}

const isSame = (a: Prices, b: Prices): boolean => textOf(a) === textOf(b)

const textOf = ({ prices, overrides, times }: Prices): string =>
  JSON.stringify([[...prices].toSorted(([a], [b]) => (a < b ? -1 : 1)), overrides ?? [], times ?? []])

/** If a cost has no price for a label, the price that applies instead counts: input for cached input. */
function highest(priced: readonly Prices[]): ReadonlyMap<string, string> {
  const labels = new Set(priced.flatMap(({ prices }) => [...prices.keys()]))
  return new Map(
    [...labels].map(label => {
      const found = priced.flatMap(
        ({ prices }) => prices.get(label) ?? (label === 'cached_input' ? (prices.get('input') ?? []) : []),
      )
      return [label, found.reduce(higher)] as const
    }),
  )
}

/** Every condition gets the highest prices of all, so that the order of conditions does not matter. */
function raising(priced: readonly Prices[], base: ReadonlyMap<string, string>): readonly Override[] {
  const isRaise = ([label, price]: readonly [string, string]): boolean => Number(price) > Number(base.get(label) ?? 0)
  const all = priced.flatMap(({ overrides = [] }) => overrides.filter(one => Object.entries(one.prices).some(isRaise)))
  const most = new Map<string, string>()
  for (const { prices } of all)
    for (const [label, price] of Object.entries(prices).filter(isRaise))
      most.set(label, higher(most.get(label) ?? '0', price))
  return distinct(all).map(one => ({ if: one.if, prices: Object.fromEntries(most) }))
}

function factors(priced: readonly Prices[]): NonNullable<Prices['times']> {
  const all = priced.flatMap(({ times = [] }) => times.filter(({ by }) => Number(by) > 1))
  return distinct(all).map(one => ({
    ...one,
    by: all
      .filter(other => conditionOf(other) === conditionOf(one))
      .map(({ by }) => by)
      .reduce(higher),
  }))
}

function distinct<One extends { readonly if: object }>(all: readonly One[]): readonly One[] {
  return [...Map.groupBy(all, conditionOf).values()].flatMap(([one]) => one ?? [])
}

const conditionOf = (one: { readonly if: object }): string => JSON.stringify(one.if)

const higher = (a: string, b: string): string => (Number(b) > Number(a) ? b : a)
