import type { Micros, PriceFactor, TierRule, TierSource } from '../../src/plugin-api/index.ts'
import { isSameWord, multiply } from '../../src/pricing/index.ts'
import { rateTier, type Size } from './tier.ts'

/** The known facts of a returned image and its answer. */
export type Come = {
  /** The size read from its bytes. */
  readonly output: Size | null
  /** The size that the answer reports. */
  readonly reported: Size | null
  /** The facts that the answer reports, by name. */
  readonly facts: ReadonlyMap<string, string | number | boolean> | undefined
  /** Whether the answer is complete and reported none of the quantities that lines depend on. */
  readonly isSilent?: boolean
}

/** The price of one image: `label` is its tier, or the name of the price. */
export type PricedImage = { readonly label: string; readonly source: TierSource; readonly price: Micros }

/** The name of the price of an image without tiers and names. */
export const imageLabel = 'image'

/** The price of an image by the rule of its charge (`docs/rules.md#tiers-and-prices`), before the answer's facts. */
export function priceImage(rule: TierRule, come: Come): PricedImage {
  const rated = rateTier(rule, come.output, come.reported)
  const found = rule.by
    ? priceBy(rule, rule.by, rated, come)
    : { label: rated.tier, source: rated.source, price: priceOf(rule, rated.tier) }
  if (!rule.times) return found
  const { label, source, price } = found
  const factors = factorsOf(rule, come.facts)
  return {
    label,
    source,
    price: multiply(
      price,
      factors.map(({ by }) => by),
    ),
  }
}

/** The price of a tier by the rule of its charge, in micro-units. */
export function priceOf(rule: Pick<TierRule, 'tiers'>, tier: string): Micros {
  const row = rule.tiers.find(candidate => candidate.tier === tier)
  if (!row) throw new Error(`tier '${tier}' is not one of the charge's own tiers`)
  return row.price
}

type Rated = ReturnType<typeof rateTier>

function priceBy(rule: TierRule, by: readonly string[], rated: Rated, come: Come): PricedImage {
  const prices = rule.prices ?? []
  const tier = rule.tiers.some(row => row.tier === rated.tier) ? rated.tier : undefined
  const source = by.includes('tier') ? rated.source : reportsAny(by, rule, come) ? 'told' : 'request'
  const isWhole = by.length === 1
  const find = (facts: Come['facts']) => {
    const label = labelOf(by.map(name => (name === 'tier' ? tier : valueOf(rule, name, facts))))
    return label === undefined ? undefined : prices.find(row => sameLabel(row.label, label, isWhole))
  }
  const row = find(come.facts)
  if (row) return { label: row.label, source, price: row.price }
  const otherwise = prices.find(one => sameLabel(one.label, rule.otherwise, true))
  if (otherwise) return { label: otherwise.label, source: 'default', price: otherwise.price }
  // The reported values have no price; the requested values have one, or the request would have been refused.
  const requested = find(undefined) ?? mostExpensiveOf(prices)
  return { label: requested?.label ?? imageLabel, source: 'default', price: requested?.price ?? 0 }
}

export function mostExpensiveOf<Row extends { readonly price: Micros }>(rows: readonly Row[]): Row | undefined {
  return rows.reduce<Row | undefined>((most, row) => (most && most.price >= row.price ? most : row), undefined)
}

function reportsAny(names: readonly string[], rule: TierRule, { facts }: Come): boolean {
  return names.some(name => rule.facts?.includes(name) && facts?.has(name))
}

/** The value of a name: as reported by the answer, if it may report it; else as requested. */
export function valueOf(
  rule: Pick<TierRule, 'facts' | 'asked'>,
  name: string,
  facts: Come['facts'],
): string | undefined {
  const fact = rule.facts?.includes(name) ? facts?.get(name) : undefined
  return fact === undefined || fact === '' ? rule.asked?.[name] : String(fact)
}

/** Joins values to the name of a price; undefined if one is missing, or contains a blank and there are several. */
export function labelOf(values: readonly (string | undefined)[]): string | undefined {
  const several = values.length > 1
  for (const value of values) if (value === undefined || (several && /\s/.test(value))) return undefined
  return values.join(' ')
}

/** Whether two price names are equal; `whole`: inner blanks are part of the name. */
export function sameLabel(a: string, b: string, whole: boolean): boolean {
  return isSameWord(whole ? a : wordsOf(a).join(' '), b)
}

/** The words of a name, separated by blanks. */
export function wordsOf(label: string): readonly string[] {
  return label.trim().split(/\s+/)
}

/** The factors of an image's price that apply. */
export function factorsOf(rule: TierRule, facts: Come['facts']): readonly PriceFactor[] {
  return rule.times?.filter(one => applies(one.if, name => valueOf(rule, name, facts))) ?? []
}

/** `draft: true, size: none`. */
export function conditionsText(conditions: PriceFactor['if']): string {
  return Object.entries(conditions)
    .map(([name, wanted]) => `${name}: ${String(wanted)}`)
    .join(', ')
}

export function applies(
  conditions: { readonly [name: string]: string | readonly string[] },
  valueAt: (name: string) => string | undefined,
): boolean {
  return Object.entries(conditions).every(([name, wanted]) => isAsWanted(valueAt(name), wanted))
}

function isAsWanted(value: string | undefined, wanted: string | readonly string[]): boolean {
  if (wanted === 'any') return value !== undefined
  if (wanted === 'none') return value === undefined
  const all = typeof wanted === 'string' ? [wanted] : wanted
  return value !== undefined && all.some(one => isSameWord(one, value))
}
