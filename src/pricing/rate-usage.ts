import {
  type Counts,
  factNames,
  type ChargeItem,
  sameCalls,
  type TierSource,
  treeOf,
  type UnitName,
  type UnitRow,
  units,
  type UsageFacts,
  type UsageRule,
} from '../domain/index.ts'
import type { Micros } from '../util/index.ts'
import { holds, listOf, type Situation } from './conditions.ts'
import {
  type Exact,
  exactAmount,
  type Factor,
  multiplyFactors,
  parseFactor,
  partsPerMicro,
  roundTogether,
  roundUp,
} from './exact.ts'

/** A quantity of one unit, without its children; `source` is the origin of the count. */
export type Use = { readonly unit: string; readonly quantity: number; readonly source: TierSource }

/** The input of a rating besides the rule. */
export type UsageAsk = {
  readonly uses: readonly Use[]
  /** The facts of the answer, or else of the request. */
  readonly facts: UsageFacts
  /** When the request began, milliseconds since the epoch. */
  readonly at: number
  /** The remainder of earlier charges of the key, in parts of a micro-unit; 0 when absent. */
  readonly carried?: number
  /** Flags of every item. */
  readonly flags?: readonly string[]
  /** Input tokens that conditions compare, if `uses` cover several requests. */
  readonly input?: number
}

/** Uses of many requests that have the same prices. */
export type UsageGroup = Omit<UsageAsk, 'carried' | 'input'> & { readonly input: number }

export type RatedUsage = {
  readonly lines: readonly ChargeItem[]
  readonly amount: Micros
  /** The amount rounded up: a hold of it covers the charge with any carried remainder. */
  readonly ceiling: Micros
  /** Units without a price of their own that may not inherit one, and facts such as `service_tier`. */
  readonly unpriced: readonly string[]
  /** The remainder to carry to the next charge of the key, in parts of a micro-unit. */
  readonly carried: number
}

/** The order of charge items. */
const unitOrder: ReadonlyMap<string, number> = new Map([...units.keys()].map((unit, i) => [unit, i]))
/** Values of facts that need no price. */
const ordinary: ReadonlySet<string> = new Set(['standard', 'global'])
const none: readonly string[] = []

/** One charge item for each used unit, at the prices that apply to the request. */
export function rateUsage(rule: UsageRule, ask: UsageAsk): RatedUsage {
  const { uses, facts, at, flags = none, carried = 0 } = ask
  const prices = priceListOf(rule, { input: ask.input ?? inputOf(uses), facts, at })
  let unpriced = unpricedFacts(rule, facts)
  const factFlags = unpriced.length === 0 ? none : unpriced.map(flagOf)
  const lines: ChargeItem[] = []
  const amounts: Exact[] = []
  for (const use of inOrder(uses)) {
    const { unit, quantity, source } = use
    if (quantity === 0) continue
    const { row, isOwn } = prices.find(unit)
    // Keeps reported usage without a price too, so that later prices can apply to it.
    if (!row && source !== 'output') continue
    let own = flags
    if (source === 'default') own = [...own, 'estimated']
    if (!isOwn && isGoverned(unit) && !prices.covers(unit)) {
      unpriced = [...unpriced, unit]
      own = [...own, flagOf(unit)]
    }
    const index = lines.length
    if (index === 0 && factFlags.length > 0) own = [...own, ...factFlags]
    amounts.push(row ? exactAmount(quantity, row.price, row.per, prices.factorOf(unit)) : nothing)
    const line = { index, tier: unit, source, width: null, height: null, price: 0, flags: own, quantity }
    const ownFacts = index === 0 ? factsToKeep(facts) : undefined
    lines.push(ownFacts ? { ...line, told: ownFacts } : line)
  }
  return finish(lines, amounts, unpriced, carried)
}

/** One charge item for each unit of each group. Each item records the facts that its price depends on. */
export function rateGroups(rule: UsageRule, groups: readonly UsageGroup[]): RatedUsage {
  const lines: ChargeItem[] = []
  const amounts: Exact[] = []
  const unpriced = new Set<string>()
  for (const ask of groups) {
    const { input } = ask
    const prices = priceListOf(rule, ask)
    const rated = rateUsage(rule, ask)
    for (const name of rated.unpriced) unpriced.add(name)
    for (const line of rated.lines) {
      const { row } = prices.find(line.tier)
      amounts.push(row ? exactAmount(line.quantity ?? 0, row.price, row.per, prices.factorOf(line.tier)) : nothing)
      lines.push({
        ...line,
        index: lines.length,
        told: { facts: { ...factsToKeep(ask.facts)?.facts, input: String(input) } },
      })
    }
  }
  return finish(lines, amounts, [...unpriced], 0)
}

/** Writes the rounded prices into the items. */
function finish(
  lines: { -readonly [name in keyof ChargeItem]: ChargeItem[name] }[],
  amounts: readonly Exact[],
  unpriced: readonly string[],
  before: number,
): RatedUsage {
  const { prices, carried } = roundTogether(amounts, before)
  let amount = 0
  for (let i = 0; i < lines.length; i++) {
    const price = prices[i] as number
    ;(lines[i] as { price: number }).price = price
    amount += price
  }
  return { lines, amount, ceiling: roundUp(sumOf(amounts)), unpriced, carried }
}

/** Sorts uses in the order of units, because reports have them in any order. */
function inOrder(uses: readonly Use[]): readonly Use[] {
  for (let i = 1; i < uses.length; i++)
    if (placeOf(uses[i - 1] as Use) > placeOf(uses[i] as Use)) return uses.toSorted((a, b) => placeOf(a) - placeOf(b))
  return uses
}

function placeOf({ unit }: Use): number {
  return unitOrder.get(unit) ?? Number.POSITIVE_INFINITY
}

/** The exact price of one item of a stored charge; undefined if its rule has no price for it. */
export function exactItem(rule: UsageRule, situation: Situation, unit: string, quantity: number): Exact | undefined {
  const prices = priceListOf(rule, situation)
  const { row } = prices.find(unit)
  if (row) return exactAmount(quantity, row.price, row.per, prices.factorOf(unit))
  return units.has(unit) ? nothing : undefined
}

/** Converts counts to uses: for each unit the quantity that its children do not count. */
export function usesOf(counts: Counts, source: TierSource): readonly Use[] {
  const uses: Use[] = []
  for (const name in counts) {
    const { children } = units.get(name) ?? { children: [] }
    let quantity = counts[name as UnitName] ?? 0
    for (const child of children) quantity -= counts[child] ?? 0
    uses.push({ unit: name, quantity: Math.max(0, roundCount(name, quantity)), source })
  }
  return uses
}

const inputTree: ReadonlySet<string> = new Set(treeOf('input'))

/** Input tokens of all kinds. */
export function inputOf(uses: readonly { readonly unit: string; readonly quantity: number }[]): number {
  let input = 0
  for (const { unit, quantity } of uses) if (inputTree.has(unit)) input += quantity
  return input
}

type FoundRow = { readonly row: UnitRow | undefined; readonly isOwn: boolean }

/** The prices that hold in one situation. */
export class PriceList {
  readonly #rows: readonly (readonly UnitRow[])[]
  readonly #found = new Map<string, FoundRow>()
  /** The factor of all units except calls. */
  readonly factor: Factor
  readonly #ofCalls: Factor

  /**
   * Rows of the first list take precedence over those of the second. @param factors apply to tokens and time, not to
   * calls
   */
  constructor(rows: readonly (readonly UnitRow[])[], multiplier: string, factors: readonly string[] = none) {
    this.#rows = rows
    this.#ofCalls = parseFactor(multiplier)
    this.factor = factors.length === 0 ? this.#ofCalls : multiplyFactors([multiplier, ...factors].map(parseFactor))
  }

  /** The factor of a unit's price. */
  factorOf(unit: string): Factor {
    return units.get(unit)?.call === true ? this.#ofCalls : this.factor
  }

  /** The price of a unit: its own, or that of the nearest parent that has one. */
  find(unit: string): FoundRow {
    const known = this.#found.get(unit)
    if (known) return known
    let row = this.#rowOf(unit)
    const isOwn = row !== undefined
    for (let name = parentOf(unit); !row && name !== undefined; name = parentOf(name)) row = this.#rowOf(name)
    const found = { row, isOwn }
    this.#found.set(unit, found)
    return found
  }

  /** Whether another price charges for the same calls. */
  covers(unit: string): boolean {
    return sameCalls.some(pair => pair.some(one => one === unit) && pair.some(one => this.#rowOf(one)))
  }

  #rowOf(unit: string): UnitRow | undefined {
    for (const rows of this.#rows) for (const row of rows) if (row.unit === unit) return row
    return undefined
  }
}

/** Rules whose prices depend only on the counts: one list for all requests. */
const plainLists = new WeakMap<UsageRule, PriceList>()

/** The prices of a rule that apply in a situation. */
export function priceListOf(rule: UsageRule, situation: Situation): PriceList {
  const { overrides, times } = rule
  if (overrides || times) {
    const override = overrides?.find(one => holds(one.if, situation))
    const factors = times?.filter(one => holds(one.if, situation)) ?? []
    const rows = override ? [override.prices, rule.prices] : [rule.prices]
    return new PriceList(
      rows,
      rule.multiplier,
      factors.map(({ by }) => by),
    )
  }
  let plain = plainLists.get(rule)
  if (!plain) plainLists.set(rule, (plain = new PriceList([rule.prices], rule.multiplier)))
  return plain
}

function parentOf(unit: string): string | undefined {
  return units.get(unit)?.parent
}

/** Facts that may raise the price, but that no condition of the rule names. */
export function unpricedFacts(rule: UsageRule, facts: UsageFacts): readonly string[] {
  const { service_tier: tier, speed } = facts
  if (tier === undefined && speed === undefined) return none
  return (['service_tier', 'speed'] as const).flatMap(name => {
    const value = facts[name]
    if (value === undefined || ordinary.has(value)) return []
    const conditions = [...(rule.overrides ?? []), ...(rule.times ?? [])].map(one => one.if[name])
    const isNamed = conditions.some(wanted => wanted !== undefined && listOf(wanted).includes(value))
    return isNamed ? [] : [`${name}=${value}`]
  })
}

/** Whether the setting `unpriced` applies to a unit without a price of its own. */
export function isGoverned(unit: string): boolean {
  const facts = units.get(unit)
  return facts?.call === true || (facts?.parent !== undefined && facts.inherits !== true)
}

export function flagOf(name: string): string {
  return `unpriced:${unpricedName(name)}`
}

/**
 * `service_tier` of `service_tier=priority`: the value of a fact comes from the upstream, and appears in no flag or
 * reason.
 */
export function unpricedName(name: string): string {
  return name.split('=', 1)[0] as string
}

/** Facts that are stored with a charge; undefined if there are none. */
function factsToKeep(facts: UsageFacts): ChargeItem['told'] {
  let named: { [name: string]: string } | undefined
  for (const name of factNames) {
    const value = facts[name]
    if (value !== undefined) (named ??= {})[name] = value
  }
  return named && { facts: named }
}

export function sumOf(amounts: readonly Exact[]): Exact {
  let [whole, part] = [0, 0]
  for (const amount of amounts) {
    whole += amount.whole
    part += amount.part
  }
  return { whole: whole + Math.floor(part / partsPerMicro), part: part % partsPerMicro }
}

const nothing: Exact = { whole: 0, part: 0 }

/** Rounds seconds to whole ones, and search units up. */
function roundCount(unit: string, quantity: number): number {
  return unit === 'second' ? Math.round(quantity) : Math.ceil(quantity)
}
