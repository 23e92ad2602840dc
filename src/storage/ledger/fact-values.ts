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
    toStorable(facts.size),
    toStorable(facts.quality),
    facts.n,
  ] as const
}

/** A caller's words as a database gives them back: what an entry vouches for may not differ from what is read later. */
function toStorable(words: string | null): string | null {
  return words === null ? null : words.toWellFormed().replaceAll('\0', '\uFFFD')
}
