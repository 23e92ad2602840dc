import { type UnitRow, units, type UsageRule } from '../../src/plugin-api/index.ts'
import { conditionText, holds, type Situation } from '../../src/pricing/index.ts'

export type AppliedFactor = { readonly text: string; readonly by: string }

/** The prices that apply: those of the matching override, and the base prices of units that it does not list. */
export function rowsOf(rule: UsageRule, situation: Situation): readonly UnitRow[] {
  const override = overrideOf(rule, situation)
  if (!override) return rule.prices
  return [...override.prices, ...rule.prices.filter(row => !override.prices.some(one => one.unit === row.unit))]
}

export function overrideOf(rule: UsageRule, situation: Situation) {
  return rule.overrides?.find(one => holds(one.if, situation))
}

export function factorsOf(rule: UsageRule, situation: Situation): readonly AppliedFactor[] {
  return (rule.times ?? []).flatMap(({ if: conditions, by }) => {
    return holds(conditions, situation) ? [{ text: conditionText(conditions), by }] : []
  })
}

/** The factors of a unit's price: the group's, and those that apply to it. */
export function timesOf({ multiplier }: UsageRule, unit: string, factors: readonly AppliedFactor[]): readonly string[] {
  const applied = units.get(unit)?.call ? [] : factors.map(({ by }) => by)
  return multiplier === '1' ? applied : [multiplier, ...applied]
}
