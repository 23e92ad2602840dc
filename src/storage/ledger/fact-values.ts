import type { ChargeFacts } from '../../kit/index.ts'

/** The facts of a charge but its rule, in the order of their columns: `id` to `n`. */
export function factValues(facts: ChargeFacts) {
  return [
    facts.id,
    facts.keyId,
    facts.user,
    facts.group,
    facts.operation,
    facts.model,
    facts.family,
    facts.upstream,
    facts.configRevision,
    facts.currency,
    facts.size,
    facts.quality,
    facts.n,
  ] as const
}
