import {
  type Body,
  formatMoney,
  type Imagined,
  type OperationTraits,
  type Quote,
  type UsageFacts,
  type UsageRule,
} from '../../src/plugin-api/index.ts'
import {
  type Ceiling,
  ceilingOf,
  conditionText,
  inputOf,
  rateUsage,
  type Use,
  usesOf,
} from '../../src/pricing/index.ts'
import { factorsOf, overrideOf, rowsOf, timesOf } from './applied-prices.ts'
import { requestedCalls, requestFacts, requestFactsAt, mayUse } from './request-facts.ts'
import { estimateRequest } from './estimate-request.ts'
import { inRequest, requestUses } from './rate-request.ts'
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
 * The hold of a request, and its cost if the caller gives its usage, or the request itself shows it. Without a group
 * there is no factor.
 * @throws Failure unpriced if the request would be refused
 */
export function quoteRequest(request: Imagined, facet: UsageFacet): Quote | undefined {
  const { body, model, uses, multiplier, traits, at } = request
  if (isFree(request, facet)) return undefined
  const rule = usageRule(model, multiplier ?? '1')
  if (!rule) return undefined
  if (policyOf(model, facet) === 'refuse') refuseUnpriced(model, rule, body, traits)
  const { items, amount } = rateMost(rule, body, facet, traits, uses)
  const parts = items.map(item => `${item.quantity} ${item.unit} ${formatMoney(item.amount)}`).join(', ')
  const factor = multiplier === undefined ? "times the group's multiplier" : `times ${multiplier} included`
  const known = [...usesOf(uses ?? {}, 'request'), ...requestUses({ body, facet })]
  const situation = { input: inputOf(known), facts: requestFactsAt(model.upstreams[0]?.upstream ?? {}, body), at }
  const rows = rowsOf(rule, situation)
  const isKnown = uses !== undefined || rows.every(({ unit }) => inRequest.has(unit))
  const factors = factorsOf(rule, situation)
  const override = overrideOf(rule, situation)
  const priced = rateUsage(rule, { uses: known, facts: situation.facts, at })
  const units = rows.map(({ unit, price, per, at: place }) => {
    const line = priced.lines.find(({ tier }) => tier === unit)
    const times = timesOf(rule, unit, factors)
    return { unit, price, per, at: place, times, quantity: line?.quantity ?? null, amount: line?.price ?? null }
  })
  return {
    price: {
      n: 1,
      tier: null,
      source: null,
      price: null,
      priceAt: null,
      expected: isKnown ? priced.amount : null,
      atMost: amount,
      prices: [],
      units,
      instead: facet.beside_images === 'free',
    },
    warnings: [
      ...(override ? [`the prices for ${conditionText(override.if)} apply`] : []),
      ...factors.map(({ text, by }) => `times ${by} for ${text}`),
      ...(parts === ''
        ? []
        : [`charged by usage; the hold is the maximum that the request allows: ${parts}, ${factor}`]),
    ],
  }
}
