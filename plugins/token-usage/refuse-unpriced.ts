import type { Body, Model, OperationTraits, UnitName, UsageRule } from '../../src/plugin-api/index.ts'
import { isGoverned, priceListOf, unpricedFacts } from '../../src/pricing/index.ts'
import { requestedCalls, requestFacts, requestedKinds } from './request-facts.ts'
import { countCharacters } from './count-characters.ts'
import { fail } from './errors.ts'
import type { UsageFacet } from './schema.ts'

/**
 * Refuses a request that needs a unit without a price, before anything is bought.
 * @throws Failure unpriced
 */
export function refuseUnpriced(model: Model, rule: UsageRule | undefined, body: Body, traits?: OperationTraits): void {
  if (!rule) return
  const requested = requestFacts(body)
  const [fact] = unpricedFacts(rule, requested)
  if (fact !== undefined) throw fail('unpriced', { model: model.name, what: fact })
  const prices = priceListOf(rule, { input: 0, facts: requested, at: 0 })
  const stored: readonly UnitName[] = traits?.storesTokens ? ['cache_storage'] : []
  const units: readonly UnitName[] = [...requestedCalls(body).keys(), ...requestedKinds(body), ...stored]
  const unit = units.find(one => isGoverned(one) && !prices.find(one).isOwn && !prices.covers(one))
  if (unit !== undefined) throw fail('unpriced', { model: model.name, what: unit })
}

/**
 * Refuses a request without a text for a model that is charged only by its characters: its answer would be free.
 * @throws Failure characters_uncounted
 */
export function refuseTextless(
  model: Model,
  rule: UsageRule | undefined,
  { count_characters_of: field }: Pick<UsageFacet, 'count_characters_of'>,
  body: Body,
): void {
  if (field === undefined || body.kind !== 'json' || !rule?.prices.every(({ unit }) => unit === 'character')) return
  if (countCharacters(body, field) === null)
    throw fail('characters_uncounted', { model: model.name, field }, { param: field })
}
