import {
  type AskedSize,
  askedSizeSlot,
  type Charge,
  Failure,
  type ChargeItem,
  type ChargeItemRule,
  type Repriced,
  type RepriceAsk,
  type TierRule,
} from '../../src/plugin-api/index.ts'
import { isForwarded } from './request-fields.ts'
import { buildRule, namesOf } from './build-rule.ts'
import { checkCombination } from './combinations.ts'
import { priceImage } from './price-image.ts'
import { comeOf, replayLine } from './replay.ts'
import type { BillingFacet } from './schema.ts'
import { tierOfSize } from './tier.ts'

/** Fields that are stored with every charge, whatever its prices depended on. */
const keptFields = ['size', 'quality'] as const

/**
 * The cost of a stored charge's images and additional charges under other prices and tiers, from the stored pixels,
 * facts of the answer and fields of the request.
 */
export function reprice(charge: Charge, to: RepriceAsk, facet: BillingFacet): Repriced {
  if (to.model.free) return { rule: charge.rule, lines: [] }
  // Only this plugin writes charges of this kind.
  const old = charge.rule as TierRule
  try {
    const rule = ruleNow(charge, to, facet)
    if (!rule) return { reason: 'measure_not_kept' }
    checkCombination(rule, to.model)
    const lines: ChargeItem[] = []
    for (const line of charge.lines) {
      const rated = line.quantity === null ? imageNow(rule, old, line, facet) : extraLineNow(rule, line)
      if (rated === undefined) return { reason: 'measure_not_kept' }
      lines.push({ ...line, ...rated })
    }
    return { rule, lines }
  } catch (error) {
    if (error instanceof Failure) return { reason: 'refused' }
    throw error
  }
}

/**
 * The rule that the charge would have; undefined if it depends on values that are not stored. @throws Failure
 * price_missing
 */
function ruleNow(
  charge: Charge,
  { family, model, operation, slots }: RepriceAsk,
  facet: BillingFacet,
): TierRule | undefined {
  const old = charge.rule as TierRule
  const rule = buildRule({ facet, model, requestedSize: slots.get(askedSizeSlot) ?? unread(charge) })
  const lines = linesNow(rule, old)
  if (!lines) return undefined
  const requested = new Map<string, string>()
  for (const name of namesOf(facet)) {
    const value = valueKept(name, charge, isForwarded(family.forward.get(operation), name))
    if (value === undefined) return undefined
    if (value !== null) requested.set(name, value)
  }
  const reportedNames = [...namesOfImages(rule)].filter(name => rule.facts?.includes(name))
  const keptFacts = namesOfImages(old)
  if (!reportedNames.every(name => old.facts?.includes(name) && keptFacts.has(name))) return undefined
  return {
    ...rule,
    warnings: [],
    ...(requested.size > 0 && { asked: Object.fromEntries(requested) }),
    ...(lines.length > 0 && { lines }),
  }
}

/** The size for a family without sizes, where it decides nothing. */
function unread({ size: text }: Charge): AskedSize {
  return { text, size: { kind: text === null ? 'none' : 'unread' }, resolution: null, expected: null }
}

/** The value of a field of the request; null if it was absent, undefined if it was not stored. */
function valueKept(name: string, charge: Charge, forwarded: boolean): string | null | undefined {
  const field = keptFields.find(one => one === name)
  if (field) {
    const text = forwarded ? charge[field] : null
    // A list may have several values, and prices would depend on each.
    return text !== null && /^[[{]/.test(text) ? undefined : text
  }
  const old = charge.rule as TierRule
  const names = new Set([...namesOfImages(old), ...(old.lines ?? []).flatMap(({ from }) => from ?? [])])
  return names.has(name) ? (old.asked?.[name] ?? null) : undefined
}

/** The names that the price of an image depends on besides its tier. */
function namesOfImages({ by = [], times = [] }: Pick<TierRule, 'by' | 'times'>): ReadonlySet<string> {
  return new Set([...by, ...times.flatMap(one => Object.keys(one.if))].filter(name => name !== 'tier'))
}

/**
 * Additional charges with the request's quantities; undefined if their quantities are now determined in another way.
 */
function linesNow(rule: Omit<TierRule, 'warnings'>, old: TierRule): readonly ChargeItemRule[] | undefined {
  const [now, before] = [rule.lines ?? [], old.lines ?? []]
  if (now.length === 0 && before.length === 0) return []
  if (JSON.stringify(now.map(one => shapeOf(one, rule))) !== JSON.stringify(before.map(one => shapeOf(one, old)))) {
    return undefined
  }
  if (JSON.stringify(rule.tierFrom) !== JSON.stringify(old.tierFrom)) return undefined
  return now.map((line, i) => {
    const requested = before[i]?.asked
    return requested ? { ...line, asked: requested } : line
  })
}

/** Everything of a line except its prices and the quantity of one request. */
function shapeOf(
  { asked: _own, price: _price, at: _at, missing: _missing, each: _each, first, ...line }: ChargeItemRule,
  { facts }: Pick<TierRule, 'facts'>,
) {
  const isReported = line.from !== undefined && facts?.includes(line.from) === true
  return Object.entries({ ...line, first: first?.name ?? null, isTold: isReported }).sort(([a], [b]) =>
    a < b ? -1 : 1,
  )
}

type RatedNow = Pick<ChargeItem, 'tier' | 'source' | 'price'>

/** An image at the new prices; undefined if they depend on values that are not stored. */
function imageNow(rule: TierRule, old: TierRule, line: ChargeItem, facet: BillingFacet): RatedNow | undefined {
  const isCapped = facet.over_return === 'cap' && ['over_return', 'uncounted'].some(flag => line.flags.includes(flag))
  // Nothing is charged with an uncharged image, so its additional items were not stored.
  if (isCapped !== line.flags.includes('capped') && rule.lines?.some(({ once }) => !once)) return undefined
  if (!isCapped && needsReportedSize(rule, line) && !knowsReportedSize(old, line)) return undefined
  const { label, source, price } = priceImage(rule, comeOf(line))
  return { tier: label, source, price: isCapped ? 0 : price }
}

function extraLineNow(rule: TierRule, line: ChargeItem): RatedNow | undefined {
  const again = replayLine(rule, line)
  if ('fault' in again) return undefined
  const { tier, source, price } = again
  return { tier, source, price }
}

/** Whether the size in the answer takes precedence over all other known facts. */
function needsReportedSize(rule: TierRule, { width, height }: ChargeItem): boolean {
  if (rule.by && !rule.by.includes('tier')) return false
  for (const source of rule.tierFrom) {
    if (source === 'told') return true
    if (source === 'request' && rule.requestedTier !== null) return false
    if (source === 'output' && width !== null && height !== null && tierOfSize({ width, height }, rule.tiers))
      return false
  }
  return false
}

/** Whether the reported size is stored, or known to be absent: it is stored if it determined the tier. */
function knowsReportedSize({ by, tierFrom, tiers }: TierRule, { source, told }: ChargeItem): boolean {
  if (told?.size) return true
  const place = tierFrom.indexOf('told')
  if (place < 0) return false
  if (source === 'told' || source === 'default') return true
  const last = tiers.at(-1)
  const takesAll = last !== undefined && last.longEdgeMax === null && (last.pixelsMax ?? null) === null
  return (!by || by.includes('tier')) && takesAll && place < tierFrom.indexOf(source)
}
