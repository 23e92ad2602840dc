import {
  factNames,
  type PriceConditions,
  treeOf,
  type UnitName,
  type UnitRow,
  units,
  type UsageRule,
} from '../domain/index.ts'
import type { Micros } from '../util/index.ts'
import { listOf } from './conditions.ts'
import { type Exact, exactAmount, type Factor, multiplyFactors, parseFactor, roundUp } from './exact.ts'
import { sumOf } from './rate-usage.ts'

/** The usage that a request allows for its answer. */
export type Allowed = {
  /** Maximum quantity of each unit without a parent, and of each call; children are part of it. */
  readonly uses: readonly { readonly unit: string; readonly quantity: number }[]
  /** The maximum input tokens of the request: decides which size conditions may hold. */
  readonly inputMax: number
  /** The values that a fact may have in the answer; absent for any. */
  readonly facts: { readonly [name in (typeof factNames)[number]]?: readonly string[] }
  /** Whether the answer may use a kind of a count, such as audio. */
  readonly mayUse: (unit: UnitName) => boolean
}

export type Ceiling = {
  readonly amount: Micros
  readonly items: readonly { readonly unit: string; readonly quantity: number; readonly amount: Micros }[]
}

/** The highest possible amount of a request: by the most expensive units, overrides and factors that it allows. */
export function ceilingOf(rule: UsageRule, allowed: Allowed): Ceiling {
  const factor = largestFactor(rule, allowed)
  const overrides = (rule.overrides ?? []).filter(one => mayHold(one.if, allowed))
  const scenarios = [rule.prices, ...overrides.map(one => laidOver(rule.prices, one.prices))]
  return scenarios
    .map(rows => ceilingBy(rows, factor, allowed))
    .reduce((mostExpensive, one) => (one.amount > mostExpensive.amount ? one : mostExpensive))
}

/** The factor of the most expensive region; an answer is from one region. */
function largestFactor({ multiplier, times = [] }: UsageRule, allowed: Allowed): Factor {
  const raising = times.filter(({ by }) => Number(by) > 1)
  const regions = new Set(raising.flatMap(({ if: { region } }) => (region === undefined ? [] : listOf(region))))
  const possible = allowed.facts.region ?? ['', ...regions]
  const factors = possible.map(region => {
    const facts = { ...allowed.facts, region: [region] }
    const held = raising.filter(one => mayHold(one.if, { ...allowed, facts }))
    return multiplyFactors([multiplier, ...held.map(({ by }) => by)].map(parseFactor))
  })
  return factors.reduce((most, one) => (one.over * most.under > most.over * one.under ? one : most))
}

function ceilingBy(rows: readonly UnitRow[], factor: Factor, allowed: Allowed): Ceiling {
  const items = allowed.uses.flatMap(({ unit, quantity }) => {
    const amounts = rowsOf(rows, unit, allowed).map(row => exactAmount(quantity, row.price, row.per, factor))
    const [first, ...more] = amounts
    if (!first || quantity === 0) return []
    return [{ unit, quantity, exact: more.reduce(larger, first) }]
  })
  return {
    amount: roundUp(sumOf(items.map(({ exact }) => exact))),
    items: items.map(({ unit, quantity, exact }) => ({ unit, quantity, amount: roundUp(exact) })),
  }
}

/** The prices that may apply to a unit: its own, and those of its children that the request allows. */
function rowsOf(rows: readonly UnitRow[], unit: string, { mayUse }: Allowed): readonly UnitRow[] {
  if (!units.has(unit)) return []
  const tree = treeOf(unit as UnitName)
  return rows.filter(row => row.unit === unit || (tree.includes(row.unit as UnitName) && mayUse(row.unit as UnitName)))
}

function laidOver(under: readonly UnitRow[], over: readonly UnitRow[]): readonly UnitRow[] {
  return [...over, ...under.filter(row => !over.some(one => one.unit === row.unit))]
}

/** Whether conditions may hold. Time windows always may, because the time of the charge is not known yet. */
function mayHold(conditions: PriceConditions, { inputMax, facts }: Allowed): boolean {
  const { input_above: above, input_from: from } = conditions
  if ((above !== undefined && inputMax <= above) || (from !== undefined && inputMax < from)) return false
  return factNames.every(name => {
    const wanted = conditions[name]
    const possible = facts[name]
    return wanted === undefined || possible === undefined || listOf(wanted).some(one => possible.includes(one))
  })
}

function larger(a: Exact, b: Exact): Exact {
  return b.whole > a.whole || (b.whole === a.whole && b.part > a.part) ? b : a
}
