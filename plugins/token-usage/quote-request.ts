import {
  type Body,
  formatMoney,
  type Imagined,
  type OperationTraits,
  type Quote,
  type UsageFacts,
  type UsageRule,
} from '../../src/plugin-api/index.ts'
import { type Ceiling, ceilingOf, rateUsage, type Use, usesOf } from '../../src/pricing/index.ts'
import { requestedCalls, requestFacts, mayUse } from './request-facts.ts'
import { estimateRequest } from './estimate-request.ts'
import { refuseUnpriced } from './refuse-unpriced.ts'
import type { UsageFacet } from './schema.ts'
import { isFree, policyOf, usageRule } from './usage-rule.ts'

/**
 * The hold: the maximum cost of a request, as far as it is known before its answer. `counts`: quantities that the
 * caller gives in addition to the body; they apply if they exceed the estimate.
 */
export function rateMost(
  rule: UsageRule,
  body: Body,
  facet: UsageFacet,
  traits?: OperationTraits,
  counts?: NamedCounts,
): Ceiling {
  const estimated = estimateRequest(body, facet, traits)
  const uses = counts ? raise(estimated, counts) : estimated
  const calls = [...requestedCalls(body)].map(([unit, max]) => ({ unit, quantity: max ?? facet.estimate.calls }))
  const requested = requestFacts(body)
  return ceilingOf(rule, {
    uses: [...uses, ...calls],
    inputMax: Math.max(inputMaxOf(body), counts?.['input'] ?? 0),
    facts: { service_tier: possible(requested, 'service_tier'), speed: possible(requested, 'speed') },
    mayUse: unit => mayUse(body, unit),
  })
}

type NamedCounts = { readonly [unit: string]: number }

function raise(uses: readonly Use[], counts: NamedCounts): readonly Use[] {
  return uses.map(use => ({ ...use, quantity: Math.max(use.quantity, counts[use.unit] ?? 0) }))
}

/** The values that an answer may report: the standard, and the requested value. */
function possible(requested: UsageFacts, name: 'service_tier' | 'speed'): readonly string[] {
  const value = requested[name]
  return value === undefined ? ['standard'] : ['standard', value]
}

/** The maximum number of input tokens: a token is at least a byte of text; the tokens of files are unknown. */
function inputMaxOf(body: Body): number {
  return body.kind === 'json' && !body.json.bytes.includes('base64') && !body.json.bytes.includes('http')
    ? body.json.bytes.length
    : Number.POSITIVE_INFINITY
}

/**
 * The hold of a request, and its cost if the caller gives its usage; otherwise only the answer shows the cost. Without
 * a group there is no factor.
 * @throws Failure unpriced if the request would be refused
 */
export function quoteRequest(request: Imagined, facet: UsageFacet): Quote | undefined {
  const { body, model, uses, multiplier, traits } = request
  if (isFree(request, facet)) return undefined
  const rule = usageRule(model, multiplier ?? '1')
  if (!rule) return undefined
  if (policyOf(model, facet) === 'refuse') refuseUnpriced(model, rule, body, traits)
  const { items, amount } = rateMost(rule, body, facet, traits, uses)
  const parts = items.map(item => `${item.quantity} ${item.unit} ${formatMoney(item.amount)}`).join(', ')
  const factor = multiplier === undefined ? "times the group's multiplier" : `times ${multiplier} included`
  const statedUses = usesOf(uses ?? {}, 'request')
  const priced = rateUsage(rule, { uses: statedUses, facts: requestFacts(body), at: Date.UTC(2000, 0, 1) })
  const units = rule.prices.map(({ unit, price, per, at }) => {
    const line = priced.lines.find(({ tier }) => tier === unit)
    return { unit, price, per, at, quantity: line?.quantity ?? null, amount: line?.price ?? null }
  })
  return {
    price: {
      n: 1,
      tier: null,
      source: null,
      price: null,
      priceAt: null,
      expected: uses ? priced.amount : null,
      atMost: amount,
      prices: [],
      units,
    },
    warnings: [`charged by usage; the hold is the maximum that the request allows: ${parts}, ${factor}`],
  }
}
