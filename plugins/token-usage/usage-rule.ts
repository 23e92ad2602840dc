import type { Model, UsageRule } from '../../src/kit/index.ts'
import { unitPer } from './units.ts'

const known = new WeakMap<Model, Map<string, UsageRule>>()

/** By what a model's use is priced for a group; undefined when nothing of it is. One object for all requests alike. */
export function usageRule(model: Model, multiplier: string): UsageRule | undefined {
  let rules = known.get(model)
  if (!rules) known.set(model, (rules = new Map()))
  let rule = rules.get(multiplier)
  if (!rule) rules.set(multiplier, (rule = makeRule(model, multiplier)))
  return rule.prices.length === 0 ? undefined : rule
}

function makeRule(model: Model, multiplier: string): UsageRule {
  const prices: UsageRule['prices'][number][] = []
  if (!model.free) {
    for (const [unit, { micros, origin }] of model.prices) {
      const per = unitPer.get(unit)
      if (per !== undefined) prices.push({ unit, price: micros, per, at: `${origin.file}:${origin.line}` })
    }
  }
  return { kind: 'usage', prices, multiplier, warnings: [] }
}
