import {
  type Charge,
  type ChargeItem,
  isTokens,
  type Repriced,
  type RepriceAsk,
  rootOf,
  treeOf,
  units,
  type UsageRule,
} from '../../src/plugin-api/index.ts'
import {
  exactLines,
  partsPerMicro,
  rateGroups,
  rateUsage,
  situationOf,
  situationOfLine,
  sumOf,
  type UsageGroup,
  type Use,
} from '../../src/pricing/index.ts'
import type { UsageFacet } from './schema.ts'
import { isFree, usageRule } from './usage-rule.ts'

/** A stored charge for usage at other prices, with the stored quantities. */
export function reprice(
  charge: Charge,
  { model, multiplier, operation, traits }: RepriceAsk,
  facet: UsageFacet,
): Repriced {
  if (model.free || isFree({ operation, traits }, facet)) return { rule: charge.rule, lines: [] }
  const rule = usageRule(model, multiplier)
  if (!rule) return { reason: 'charged_otherwise' }
  // Only this plugin writes charges of this kind.
  const old = charge.rule as UsageRule
  if (rule.prices.some(({ unit }) => !isKept(unit, old, charge))) return { reason: 'measure_not_kept' }
  const then = sumOf(exactLines(old, charge).filter(amount => amount !== undefined))
  const now = sumOf(exactLines(rule, charge).filter(amount => amount !== undefined))
  // The earlier rounding stays: without a change of prices, nothing changes.
  if (then.whole === now.whole && then.part === now.part) return { rule: charge.rule, lines: charge.lines }
  const groups = groupsOf(charge)
  if (groups.length > 0) {
    const { lines } = rateGroups(rule, groups)
    return { rule, lines: lines.map(line => ({ ...line, flags: flagsOf(line, charge) })) }
  }
  const { facts, at } = situationOf(charge)
  const uses = charge.lines.map(({ tier, quantity, source }) => ({ unit: tier, quantity: quantity ?? 0, source }))
  const carried = clampCarried((charge.amount - then.whole) * partsPerMicro - then.part)
  const { lines } = rateUsage(rule, { uses, facts, at, carried })
  return { rule, lines: lines.map(line => ({ ...line, flags: flagsOf(line, charge) })) }
}

/** The groups of a batch's charge, from its items; empty for other charges. */
function groupsOf(charge: Charge): readonly UsageGroup[] {
  const groups = new Map<string, UsageGroup & { uses: Use[] }>()
  for (const line of charge.lines) {
    const { tier, quantity, source, told } = line
    if (told?.facts?.['input'] === undefined) return []
    const name = JSON.stringify(told.facts)
    const { input, facts, at } = situationOfLine(charge, line)
    const group = groups.get(name) ?? { input, facts, at, uses: [] }
    groups.set(name, group)
    group.uses.push({ unit: tier, quantity: quantity ?? 0, source })
  }
  return [...groups.values()]
}

/** Limits the remainder to its range: from minus half of a micro-unit to less than half of one. */
function clampCarried(parts: number): number {
  return Math.min(Math.max(parts, -partsPerMicro / 2), partsPerMicro / 2 - 1)
}

/** The flags of the stored item, except those about its price: the new price has other ones. */
function flagsOf({ tier, flags }: ChargeItem, { lines }: Charge): readonly string[] {
  const before = lines.find(line => line.tier === tier)?.flags ?? []
  return [...new Set([...before.filter(flag => !flag.startsWith('unpriced:')), ...flags])]
}

/**
 * Whether a charge shows the used quantity of a unit: 0 if a priced unit has no item, or if its parent has none.
 * Charges of earlier versions do not contain kinds without prices; no charge contains a count of the request without
 * one, such as `request`.
 */
function isKept(unit: string, old: UsageRule, { lines }: Charge): boolean {
  const has = (name: string): boolean => lines.some(line => line.tier === name && (line.quantity ?? 0) > 0)
  if (has(unit) || old.prices.some(row => row.unit === unit)) return true
  if (old.counts === 'all') return units.get(unit)?.call === true || isTokens(unit)
  const parent = units.get(unit)?.parent
  return parent !== undefined && !treeOf(rootOf(parent)).some(has) && isKept(parent, old, { lines } as Charge)
}
