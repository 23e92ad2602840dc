import type { Micros, Model, TierRule } from '../../src/plugin-api/index.ts'
import { isSameWord, multiply } from '../../src/pricing/index.ts'
import { fail } from './errors.ts'
import { applies, mostExpensiveOf, labelOf, priceOf, sameLabel, valueOf, wordsOf } from './price-image.ts'
import { rateTier } from './tier.ts'

type Rule = Omit<TierRule, 'warnings'>

/** Whether neither the returned pixels nor the answer's facts can change the price of an image. */
export function isDecided(rule: Rule): boolean {
  if (rule.facts && namesOfImage(rule).some(name => rule.facts?.includes(name))) return false
  return !goesByTier(rule) || isTierDecided(rule)
}

function goesByTier(rule: Rule): boolean {
  return rule.by === undefined || rule.by.includes('tier')
}

/** Whether the returned pixels cannot change the tier. */
function isTierDecided({ tierFrom, requestedTier }: Rule): boolean {
  const [first] = tierFrom
  return !tierFrom.some(source => source !== 'request') || (first === 'request' && requestedTier !== null)
}

function namesOfImage({ by, times }: Rule): readonly string[] {
  return [...(by ?? []), ...(times ?? []).flatMap(one => Object.keys(one.if))]
}

/** The highest expected price of one image, in micro-units: over the tiers that may be returned, or over all. */
export function highestPrice(rule: Rule): Micros {
  const price = rule.by ? mostExpensiveBy(rule, rule.by) : mostExpensiveTier(rule)
  const factors = (rule.times ?? []).filter(one => mayApply(rule, one.if, raises(one.by)))
  return factors.length === 0
    ? price
    : multiply(
        price,
        factors.map(({ by }) => by),
      )
}

function mostExpensiveTier(rule: Rule): Micros {
  if (isTierDecided(rule)) return priceOf(rule, rateTier(rule, null).tier)
  return Math.max(...expectedTiers(rule).map(row => row.price))
}

/** The tiers that the family expects, and the tier of an image with unreadable pixels. */
function expectedTiers({ tiers, tierFrom, largestOutput, requestedTier, otherwise }: Rule): Rule['tiers'] {
  const last = tiers.findIndex(({ tier }) => tier === largestOutput)
  if (last === -1) return tiers
  const unread = tierFrom.includes('request') && requestedTier !== null ? requestedTier : otherwise
  return tiers.filter(({ tier }, i) => i <= last || tier === unread)
}

/**
 * Whether a factor counts for the hold. If the answer decides its condition, only factors that raise the price count.
 */
function mayApply(rule: Rule, conditions: NonNullable<Rule['times']>[number]['if'], dearer: boolean): boolean {
  const open = Object.keys(conditions).some(name => rule.facts?.includes(name))
  return open ? dearer : applies(conditions, name => valueOf(rule, name, undefined))
}

function mostExpensiveBy(rule: Rule, by: readonly string[]): Micros {
  const prices = rule.prices ?? []
  const otherwise = prices.find(one => sameLabel(one.label, rule.otherwise, true))
  const reach = reachOf(rule, by, expectedTiers(rule))
  // The answer may report a combination without a price, for which any price is possible.
  if (!otherwise && by.some(name => rule.facts?.includes(name))) return mostExpensiveOf(prices)?.price ?? 0
  const reached = prices.filter(({ label }) => isReached(label, reach))
  const isSure = hasTier(rule, by) && reached.length > 0 && reached.length === countOf(reach)
  const all = isSure || !otherwise ? reached : [...reached, otherwise]
  return mostExpensiveOf(all)?.price ?? 0
}

/** The possible words at each position of a name; undefined if any is possible, empty if none is known. */
type Reach = readonly (readonly string[] | undefined)[]

function reachOf(rule: Rule, by: readonly string[], tiers = rule.tiers): Reach {
  return by.map(name => {
    if (name === 'tier') return tiersOf(rule, tiers)
    if (rule.facts?.includes(name)) return undefined
    const value = rule.asked?.[name]
    return value === undefined ? [] : [value]
  })
}

function tiersOf(rule: Rule, tiers: Rule['tiers']): readonly string[] {
  if (!isTierDecided(rule)) return tiers.map(({ tier }) => tier)
  const { tier } = rateTier(rule, null)
  return rule.tiers.some(row => row.tier === tier) ? [tier] : []
}

/** Whether every image has a tier if its price depends on one. */
function hasTier(rule: Rule, by: readonly string[]): boolean {
  return !by.includes('tier') || isTierDecided(rule) || rule.tiers.some(row => row.tier === rule.otherwise)
}

function countOf(reach: Reach): number {
  return reach.reduce((count, words) => count * (words?.length ?? 0), 1)
}

function isReached(label: string, reach: Reach): boolean {
  const words = reach.length === 1 ? [label] : wordsOf(label)
  return (
    words.length === reach.length &&
    reach.every((may, i) => may === undefined || may.some(word => isSameWord(word, words[i] ?? '')))
  )
}

/**
 * Refuses a request whose images may have a combination without a price, before it costs anything.
 * @throws Failure price_unknown
 */
export function checkCombination(rule: Rule, model: Model): void {
  const { by = [], prices = [], otherwise } = rule
  if (by.length === 0 || prices.some(({ label }) => sameLabel(label, otherwise, true))) return
  const reach = reachOf(rule, by)
  const labels = prices.map(({ label }) => (by.length === 1 ? [label] : wordsOf(label)))
  by.forEach((name, i) => {
    const value = rule.asked?.[name]
    const may = reach[i] ?? (value === undefined ? undefined : [value])
    const known = [...new Set(labels.map(words => words[i] ?? ''))]
    if (!may || may.some(word => known.some(one => isSameWord(one, word)))) return
    throw fail(
      'price_unknown',
      {
        model: model.name,
        field: name,
        value: may.length === 0 ? 'not given' : may.join(', '),
        known: known.join(', '),
      },
      { param: name },
    )
  })
  for (const words of combine(reach)) {
    const label = labelOf(words)
    if (label !== undefined && prices.some(row => sameLabel(row.label, label, by.length === 1))) continue
    throw fail('price_unknown', {
      model: model.name,
      field: by.join(', '),
      value: words.join(' '),
      known: prices.map(row => row.label).join(', '),
    })
  }
}

/** Every combination that the request and its sizes decide; empty if answers decide part of it. */
function combine(reach: Reach): readonly (readonly string[])[] {
  let all: readonly (readonly string[])[] = [[]]
  for (const words of reach) all = words === undefined ? [] : all.flatMap(some => words.map(word => [...some, word]))
  return all
}

/** Whether a factor raises the price. */
function raises(factor: string): boolean {
  return Number(factor) > 1
}
