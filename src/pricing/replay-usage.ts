import type { Charge, ChargeItem, UsageFacts, UsageRule } from '../domain/index.ts'
import { timeOfId } from '../util/index.ts'
import { exactItem, inputOf } from './rate-usage.ts'
import type { Exact } from './exact.ts'
import type { Situation } from './conditions.ts'

/** What the prices of a stored charge of use were held against. */
export function situationOf({ id, createdAt, lines }: Pick<Charge, 'id' | 'createdAt' | 'lines'>): Situation {
  const counted = lines.map(({ tier, quantity }) => ({ unit: tier, quantity: quantity ?? 0 }))
  const begun = timeOfId('req_', id)
  const facts: UsageFacts = lines[0]?.told?.facts ?? {}
  return { input: inputOf(counted), facts, at: Number.isNaN(begun) ? createdAt : begun }
}

/** The exact amount of each line of a stored charge by a rule; undefined where the rule has no price for it. */
export function exactLines(
  rule: UsageRule,
  charge: Pick<Charge, 'id' | 'createdAt' | 'lines'>,
): readonly (Exact | undefined)[] {
  const situation = situationOf(charge)
  return charge.lines.map(({ tier, quantity }: ChargeItem) => exactItem(rule, situation, tier, quantity ?? 0))
}
