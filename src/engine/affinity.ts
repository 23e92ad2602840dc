import { type Affinity, type Body, readField } from '../domain/index.ts'
import type { Head, RequestContext, Target } from '../plugin-api/index.ts'
import { valueAtNames } from '../util/index.ts'

/** Characters of a hint that count. */
const charactersMax = 1_024

/**
 * Seed for choosing the upstream and vendor key, the same for all requests of one conversation. It is built from the first hint of
 * the model that the request has. Undefined for a request without a hint, which is distributed by weight.
 */
export function affinityOf(
  { head, payer, route }: RequestContext,
  { model, family, body }: Target,
): string | undefined {
  const hints = model.affinity ?? family.affinity
  // Keep a key's objects in one account: later requests may name several of them.
  if (route.object?.namesNoModel) return payer
  const hint = hints && findHint(hints, head, body)
  // The same hint from two keys means two conversations.
  return hint === undefined ? undefined : `${payer} ${hint.slice(0, charactersMax)}`
}

function findHint({ fields, headers }: Affinity, head: Head, body: Body): string | undefined {
  for (const [first = '', ...rest] of fields) {
    const value = valueAtNames(readField(body, first), rest)
    if (typeof value === 'string' && value !== '') return value
  }
  for (const name of headers) {
    const value = head.headers[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}
