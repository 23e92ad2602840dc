import {
  type Body,
  nameOn,
  type Model,
  type OperationTraits,
  type Target,
  type UsageRule,
} from '../../src/plugin-api/index.ts'
import { rateMost } from './quote-request.ts'
import type { UsageFacet } from './schema.ts'

/** A model by which a request may be charged, its rule, and the settings of its family. */
export type Payable = { readonly model: Model; readonly rule: UsageRule | undefined; readonly facet: UsageFacet }

/** The models that may answer: the body's own, those that it lists as alternatives, and its fallbacks. */
export function payablesOf(
  { model, further = [], fallbacks = [] }: Target,
  facet: UsageFacet,
  ruleOf: (model: Model, facet: UsageFacet) => UsageRule | undefined,
): readonly Payable[] {
  const own = { model, rule: ruleOf(model, facet), facet }
  if (further.length + fallbacks.length === 0) return [own]
  const named = further.flatMap(one => (one.runs === 'instead' ? [one.model] : []))
  const others = [...named, ...fallbacks].map(one => {
    const its = (one.family.facets.get('token-usage') as UsageFacet | undefined) ?? facet
    return { model: one, rule: ruleOf(one, its), facet: its }
  })
  return [own, ...others]
}

/** The model with the most expensive answer, which the hold is for. */
export function mostExpensiveOf(
  payables: readonly Payable[],
  body: Body,
  traits: OperationTraits | undefined,
): Payable {
  const [own] = payables as readonly [Payable]
  if (payables.length === 1) return own
  const most = ({ rule, facet }: Payable): number => (rule ? rateMost(rule, body, facet, traits).amount : 0)
  return payables.reduce((mostExpensive, one) => (most(one) > most(mostExpensive) ? one : mostExpensive), own)
}

/**
 * The model that answered: the one that was called, unless the body lists others. Then it is the one in the answer, by
 * the upstream's names: as requested, or a dated version, such as `gpt-5-2025-08-07` for `gpt-5`. Undefined if the
 * answer names none of them.
 */
export function answeredBy(
  payables: readonly Payable[],
  { upstream, further, model }: Pick<Target, 'upstream' | 'further' | 'model'>,
  reportedModel: string | undefined,
): Payable | undefined {
  if (!further) return payables.find(payable => payable.model.name === model.name)
  if (reportedModel === undefined) return undefined
  const named = payables.map(payable => ({ payable, name: nameOn(upstream, payable.model) ?? payable.model.name }))
  const exact = named.find(({ name }) => name === reportedModel)
  if (exact) return exact.payable
  const dated = named.filter(
    ({ name }) => reportedModel.startsWith(name) && /^[-:@]/.test(reportedModel.slice(name.length)),
  )
  return dated.sort((a, b) => b.name.length - a.name.length)[0]?.payable
}
