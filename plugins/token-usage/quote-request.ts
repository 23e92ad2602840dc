import type { Body, Imagined, Line, OperationTraits, Quote, UsageRule } from '../../src/kit/index.ts'
import { estimateRequest } from './estimate-request.ts'
import { isFree } from './is-free.ts'
import { rateUse } from './rate-use.ts'
import type { UsageFacet } from './schema.ts'
import { usageRule } from './usage-rule.ts'

/** The most that a request may come to, as far as it can be known before its answer: what is held for it. */
export type Most = { readonly lines: readonly Line[]; readonly amount: number }

export function rateMost(rule: UsageRule, body: Body, facet: UsageFacet, traits?: OperationTraits): Most {
  const lines = rateUse(rule, estimateRequest(body, facet, traits))
  return { lines, amount: lines.reduce((sum, line) => sum + line.price, 0) }
}

/**
 * What a request would be held for, and what it costs where the question says what is used: else that is known from the
 * answer alone. Without a group there is no factor.
 */
export function quoteRequest(request: Imagined, facet: UsageFacet): Quote | undefined {
  const { body, model, uses, multiplier, traits } = request
  if (isFree(request, facet)) return undefined
  const rule = usageRule(model, multiplier ?? '1')
  if (!rule) return undefined
  const { lines, amount } = rateMost(rule, body, facet, traits)
  const told = lines.map(line => `${line.quantity} ${line.tier}`).join(', ')
  const factor = multiplier === undefined ? "times the group's multiplier" : `times ${multiplier}`
  const asked = Object.entries(uses ?? {}).map(([unit, quantity]) => ({ unit, quantity, source: 'request' as const }))
  const priced = rateUse(rule, asked)
  const units = rule.prices.map(({ unit, price, per, at }) => {
    const line = priced.find(({ tier }) => tier === unit)
    return { unit, price, per, at, quantity: line?.quantity ?? null, amount: line?.price ?? null }
  })
  return {
    price: {
      n: 1,
      tier: null,
      source: null,
      price: null,
      priceAt: null,
      expected: uses ? priced.reduce((sum, { price }) => sum + price, 0) : null,
      atMost: amount,
      prices: [],
      units,
    },
    warnings: [`charged by what is used; reserved is the most that can be: ${told}, ${factor}`],
  }
}
