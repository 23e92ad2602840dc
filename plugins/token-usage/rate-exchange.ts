import type { Body, Line, Outcome, Usage, UsageRule } from '../../src/kit/index.ts'
import { countCharacters } from './count-characters.ts'
import { estimateInput, estimateRequest } from './estimate-request.ts'
import { rateUse, type Use } from './rate-use.ts'
import type { UsageFacet } from './schema.ts'

/** Units that no answer has to tell; of cached input there may be none. */
const inRequest: ReadonlySet<string> = new Set(['request', 'character', 'cached_input'])

/** All that the charge of an exchange depends on, when it is over. */
export type Ended = {
  readonly rule: UsageRule
  readonly facet: UsageFacet
  readonly outcome: Outcome
  /** What the caller sent. */
  readonly body: Body
  /** What the upstream reported, as far as it can be true; null where it reported nothing. */
  readonly usage: Usage | null
  /** Units of which it reported what cannot be; they are not in `usage`. */
  readonly implausible: readonly string[]
  /** Output tokens that came without a report, by their length. */
  readonly uncounted: number
  /** Output tokens of all that came, by their length. */
  readonly byLength: number
  /** The upstream told an error inside its answer. */
  readonly failed: boolean
}

/**
 * The lines of an exchange that is over, and why there are none, or not all. A whole answer is charged as reported, and by
 * an estimate where it reports nothing that can be; of one that the caller cut, what nobody counted is estimated; of one that the upstream cut or failed, only what it reported is
 * charged; anything else costs nothing.
 */
export function rateExchange(ended: Ended): {
  readonly lines: readonly Line[]
  /** Priced units of a whole answer that nobody reported, or of which nothing was reported that can be. */
  readonly missing: readonly string[]
  /** Why nothing is charged, where nothing is. */
  readonly reason: string
} {
  const { outcome, rule } = ended
  const { reach } = outcome
  const nothing = (reason: string) => ({ lines: [], missing: [], reason })
  if (reach === 'untouched') return nothing('not_sent')
  if (reach === 'refused') return nothing('upstream_refused')
  if (reach === 'unknown') return nothing('outcome_unknown')
  if (outcome.kind === 'refused') return nothing('not_delivered')
  if (ended.failed) return { lines: rateUse(rule, reportedUses(ended)), missing: [], reason: 'upstream_failed' }
  if (reach === 'complete') {
    const known = [...reportedUses(ended), ...requestUses(ended)]
    const missing = rule.prices
      .map(row => row.unit)
      .filter(unit => unit !== 'cached_input' && !known.some(use => use.unit === unit))
    const reason = reasonOf(ended, missing)
    const uses = missing.length > 0 ? [...known, ...missingUses(ended, missing)] : known
    return { lines: rateUse(rule, uses, reason === 'nothing_used' ? [] : [reason]), missing, reason }
  }
  const isLeft = outcome.kind === 'cut' && outcome.by === 'caller'
  if (!isLeft) return { lines: rateUse(rule, reportedUses(ended)), missing: [], reason: 'upstream_cut' }
  return { lines: rateUse(rule, [...estimatedUses(ended), ...requestUses(ended)]), missing: [], reason: 'caller_gone' }
}

/** What an answer does not tell that a person may have to see; `nothing_used` where it told everything. */
function reasonOf({ implausible }: Ended, missing: readonly string[]): string {
  if (implausible.length > 0) return 'usage_implausible'
  return missing.length > 0 ? 'usage_missing' : 'nothing_used'
}

/** Units of a rule that an answer has to tell and does not; what stands in the request needs nobody to tell it. */
export function missingUnits(rule: UsageRule, usage: Usage | null): readonly string[] {
  const told = reportedUses({ rule, usage })
  const untold = (unit: string) => !inRequest.has(unit) && !told.some(use => use.unit === unit)
  return rule.prices.map(row => row.unit).filter(unit => untold(unit))
}

/** What nobody told of a whole answer: its output by its length, all else by the request. */
function missingUses({ body, byLength, facet }: Ended, missing: readonly string[]): Use[] {
  const uses = estimateRequest(body, facet).filter(({ unit }) => missing.includes(unit) && unit !== 'character')
  return uses.map(use => (use.unit === 'output' ? { ...use, quantity: byLength } : use))
}

/** What the upstream counted. Cached input is a part of the input, apart only where it has a price of its own. */
function reportedUses({ rule, usage }: Pick<Ended, 'rule' | 'usage'>): Use[] {
  if (!usage) return []
  const uses: Use[] = []
  const add = (unit: string, quantity: number | null) => {
    if (quantity !== null) uses.push({ unit, quantity, source: 'output' })
  }
  const { inputTokens: input } = usage
  const isApart = rule.prices.some(row => row.unit === 'cached_input')
  const cached = isApart ? Math.min(usage.cachedInputTokens ?? 0, input ?? 0) : 0
  add('input', input === null ? null : input - cached)
  add('cached_input', input === null ? null : cached)
  add('output', usage.outputTokens)
  add('second', usage.seconds === null ? null : Math.round(usage.seconds))
  add('search_unit', usage.searchUnits === null ? null : Math.ceil(usage.searchUnits))
  return uses
}

/** What stands in the request itself. */
function requestUses({ body, facet }: Ended): Use[] {
  const uses: Use[] = [{ unit: 'request', quantity: 1, source: 'request' }]
  const characters = countCharacters(body, facet.count_characters_of)
  if (characters !== null) uses.push({ unit: 'character', quantity: characters, source: 'request' })
  return uses
}

/** What was reported before the caller left, and by their length the tokens that nobody reported. */
function estimatedUses(ended: Ended): Use[] {
  const { body, facet, uncounted } = ended
  const uses = reportedUses(ended)
  const input = estimateInput(body, facet)
  if (!uses.some(use => use.unit === 'input')) uses.push({ unit: 'input', quantity: input, source: 'default' })
  if (uncounted === 0) return uses
  const counted = uses.find(use => use.unit === 'output')?.quantity ?? 0
  return [
    ...uses.filter(use => use.unit !== 'output'),
    { unit: 'output', quantity: counted + uncounted, source: 'default' },
  ]
}
