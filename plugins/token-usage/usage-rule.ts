import {
  type Model,
  type OperationTraits,
  type Price,
  unitAliases,
  type UnitRow,
  units,
  type UnpricedPolicy,
  type UsageRule,
} from '../../src/plugin-api/index.ts'
import type { UsageFacet } from './schema.ts'

/** Whether the operation is free, for this family or in general. */
export function isFree(
  { operation, traits }: { readonly operation: string; readonly traits?: OperationTraits | undefined },
  facet: UsageFacet,
): boolean {
  return traits?.free === true || facet.free_operations.includes(operation)
}

/** The policy for usage without a price. */
export function policyOf(model: Model, facet: UsageFacet): UnpricedPolicy {
  return model.unpriced ?? facet.unpriced
}

const known = new WeakMap<Model, Map<string, UsageRule>>()

/**
 * The rule that prices a model's usage for a group; undefined if the model has no prices. It is the same object for
 * all requests.
 */
export function usageRule(model: Model, multiplier: string): UsageRule | undefined {
  let rules = known.get(model)
  if (!rules) known.set(model, (rules = new Map()))
  let rule = rules.get(multiplier)
  if (!rule) rules.set(multiplier, (rule = makeRule(model, multiplier)))
  return rule.prices.length === 0 ? undefined : rule
}

/** Names of units that `prices` and `overrides` may contain. */
export const priceNames: readonly string[] = [...units.keys(), ...unitAliases.keys()]

function makeRule(model: Model, multiplier: string): UsageRule {
  const { overrides, times } = model
  return {
    kind: 'usage',
    prices: model.free ? [] : rowsOf(model.prices),
    ...(overrides && { overrides: overrides.map(one => ({ if: one.if, prices: rowsOf(one.prices) })) }),
    ...(times && {
      times: times.map(({ if: conditions, by, origin }) => ({ if: conditions, by, at: placeOf(origin) })),
    }),
    counts: 'all',
    multiplier,
    warnings: [],
  }
}

function rowsOf(prices: ReadonlyMap<string, Price>): UnitRow[] {
  const rows: UnitRow[] = []
  for (const [name, { micros, origin }] of prices) {
    const { unit, per } = unitAliases.get(name) ?? { unit: name, per: units.get(name)?.per }
    if (per !== undefined) rows.push({ unit, price: micros, per, at: placeOf(origin) })
  }
  return rows
}

function placeOf({ file, line }: Price['origin']): string {
  return `${file}:${line}`
}
