import type { Charge, ChargeItem, UsageFacts, UsageRule } from '../domain/index.ts'
import { timeOfId } from '../util/index.ts'
import { exactItem, inputOf } from './rate-usage.ts'
import type { Exact } from './exact.ts'
import type { Situation } from './conditions.ts'

/** The situation for which the prices of a stored charge of use were selected. */
export function situationOf({ id, createdAt, lines }: Pick<Charge, 'id' | 'createdAt' | 'lines'>): Situation {
  const counted = lines.map(({ tier, quantity }) => ({ unit: tier, quantity: quantity ?? 0 }))
  const begun = timeOfId('req_', id)
  const facts: UsageFacts = lines[0]?.told?.facts ?? {}
  return { input: inputOf(counted), facts, at: Number.isNaN(begun) ? createdAt : begun }
}

/** The same for one item: each item of a batch has the input of its own request. */
export function situationOfLine(charge: Pick<Charge, 'id' | 'createdAt' | 'lines'>, { told }: ChargeItem): Situation {
  const situation = situationOf(charge)
  const { input, ...facts } = told?.facts ?? {}
  return input === undefined ? situation : { ...situation, input: Number(input), facts }
}

/** The exact amount of each item of a stored charge by a rule; undefined if the rule has no price for it. */
export function exactLines(
  rule: UsageRule,
  charge: Pick<Charge, 'id' | 'createdAt' | 'lines'>,
): readonly (Exact | undefined)[] {
  const situation = situationOf(charge)
  return charge.lines.map(line => {
    const own = line.told?.facts?.['input'] === undefined ? situation : situationOfLine(charge, line)
    return exactItem(rule, own, line.tier, line.quantity ?? 0)
  })
}
