import type { Charge, ChargeItem, Replayed, TierRule } from '../../src/plugin-api/index.ts'
import { type Come, priceImage } from './price-image.ts'
import { rateLine } from './rate-lines.ts'

/** Rates a stored charge again from its rule, the request, the pixels of each item and the facts of the answer. */
export function replay(charge: Charge): readonly Replayed[] {
  // Only this plugin writes charges of this kind.
  const rule = charge.rule as TierRule
  return charge.lines.map(line => (line.quantity === null ? replayImage(rule, line) : replayLine(rule, line)))
}

function replayImage(rule: TierRule, line: ChargeItem): Replayed {
  const { label, source, price } = priceImage(rule, comeOf(line))
  return { index: line.index, tier: label, source, price: line.flags.includes('capped') ? 0 : price }
}

export function replayLine(rule: TierRule, line: ChargeItem): Replayed {
  const { index, tier } = line
  if (line.flags.includes('refused')) {
    const row = rule.refusals?.find(({ name }) => name === tier)
    return row
      ? { index, tier, source: 'told', price: row.price }
      : { index, fault: `is of no refusal that has a price (${tier})` }
  }
  const own = ruleOf(rule, tier)
  // A requested size is stored with the item and was not measured.
  const come = comeOf(line.source === 'output' ? line : { ...line, width: null, height: null })
  const isSilent = line.flags.includes('estimated')
  const again = own && rateLine(rule, own, { ...come, isSilent }).find(one => one.tier === tier)
  return again
    ? { index, tier, source: again.source, price: again.price }
    : { index, fault: `is of nothing that its rule charges (${tier})` }
}

/** The rule of additional charges with that price name. */
export function ruleOf(rule: TierRule, name: string) {
  return rule.lines?.find(one => one.name === name || one.first?.name === name)
}

/** The facts that were known when the item was rated. */
export function comeOf({ width, height, told }: Pick<ChargeItem, 'width' | 'height' | 'told'>): Come {
  const output = width === null || height === null ? null : { width, height }
  return { output, reported: told?.size ?? null, facts: told?.facts && new Map(Object.entries(told.facts)) }
}
