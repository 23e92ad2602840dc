import { type Body, nameOn, type Model, type Target, type UsageRule } from '../../src/plugin-api/index.ts'
import { rateMost } from './quote-request.ts'
import type { Asked } from './token-count.ts'

/** A model that a request may be charged as, and its rule. */
export type Payable = { readonly model: Model; readonly rule: UsageRule | undefined }

/** The models that may answer: the body's own, and those that it names as alternatives. */
export function payablesOf(
  { model, further }: Target,
  ruleOf: (model: Model) => UsageRule | undefined,
): readonly Payable[] {
  if (!further) return [{ model, rule: ruleOf(model) }]
  const others = further.flatMap(one => (one.runs === 'instead' ? [one.model] : []))
  return [model, ...others].map(one => ({ model: one, rule: ruleOf(one) }))
}

/** The model whose answer would cost the most: the hold is for it. */
export function dearestOf(payables: readonly Payable[], body: Body, { facet, traits }: Asked): Payable {
  const [own] = payables as readonly [Payable]
  if (payables.length === 1) return own
  const most = ({ rule }: Payable): number => (rule ? rateMost(rule, body, facet, traits).amount : 0)
  return payables.reduce((dearest, one) => (most(one) > most(dearest) ? one : dearest), own)
}

/**
 * The model that an answer names, by the upstream's names: as requested, or a dated version, as `gpt-5` answers as
 * `gpt-5-2025-08-07`. Undefined if it names none of them.
 */
export function answeredBy(
  payables: readonly Payable[],
  { upstream }: Pick<Target, 'upstream'>,
  told: string | undefined,
): Payable | undefined {
  if (told === undefined) return undefined
  const named = payables.map(payable => ({ payable, name: nameOn(upstream, payable.model) ?? payable.model.name }))
  const exact = named.find(({ name }) => name === told)
  if (exact) return exact.payable
  const dated = named.filter(({ name }) => told.startsWith(name) && /^[-:@]/.test(told.slice(name.length)))
  return dated.sort((a, b) => b.name.length - a.name.length)[0]?.payable
}
