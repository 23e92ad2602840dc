import type { Body, Imagined, Line, Quote, UsageRule } from '../../src/kit/index.ts'
import { estimateRequest } from './estimate-request.ts'
import { isFree } from './is-free.ts'
import { rateUse } from './rate-use.ts'
import type { UsageFacet } from './schema.ts'
import { usageRule } from './usage-rule.ts'

/** The most that a request may come to, as far as it can be known before its answer: what is held for it. */
export type Most = { readonly lines: readonly Line[]; readonly amount: number }

export function rateMost(rule: UsageRule, body: Body, facet: UsageFacet): Most {
  const lines = rateUse(rule, estimateRequest(body, facet))
  return { lines, amount: lines.reduce((sum, line) => sum + line.price, 0) }
}

/** What a request would be held for; what it costs is known from what was used alone. A question has no group, so no factor. */
export function quoteRequest(request: Imagined, facet: UsageFacet): Quote | undefined {
  const { body, model } = request
  if (isFree(request, facet)) return undefined
  const rule = usageRule(model, '1')
  if (!rule) return undefined
  const { lines, amount } = rateMost(rule, body, facet)
  const told = lines.map(line => `${line.quantity} ${line.tier}`).join(', ')
  return {
    price: {
      n: 1,
      tier: null,
      source: null,
      price: null,
      priceAt: null,
      expected: null,
      atMost: amount,
      prices: [],
    },
    warnings: [`charged by what is used; reserved is the most that can be: ${told}, times the group's multiplier`],
  }
}
