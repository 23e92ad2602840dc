import {
  type Body,
  type ChargeItem,
  type Outcome,
  units,
  type Usage,
  type UsageFacts,
  type UsageRule,
} from '../../src/plugin-api/index.ts'
import { rateUsage, unpricedName, type Use, usesOf } from '../../src/pricing/index.ts'
import { countCharacters } from './count-characters.ts'
import { estimateInput, estimateRequest } from './estimate-request.ts'
import type { UsageFacet } from './schema.ts'

/** Answers that have no body by their status (RFC 9110 15): nothing was made. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/** All that the charge of an exchange depends on, when it is over. */
export type Ended = {
  readonly rule: UsageRule
  readonly facet: UsageFacet
  readonly outcome: Outcome
  /** What the client sent. */
  readonly body: Body
  /** What the upstream reported, as far as it can be true; null where it reported nothing. */
  readonly usage: Usage | null
  /** Units of which it reported what cannot be; they are not in `usage`. */
  readonly implausible: readonly string[]
  /** Output tokens that came without a report, by their length. */
  readonly uncounted: number
  /** Output tokens of all that came, by their length. */
  readonly byLength: number
  /** The upstream reported an error inside its answer. */
  readonly failed: boolean
  /** What an answer looked like that was not handed out for its shape: only its request says what it may have cost. */
  readonly unread?: string | undefined
  /** The facts of the request that prices may depend on; those of the answer replace them. */
  readonly asked?: UsageFacts
  /** When the request began, milliseconds since the epoch. */
  readonly at: number
  /** What earlier charges of the key left over, in parts of a micro-unit. */
  readonly carried?: number
}

export type RatedExchange = {
  readonly lines: readonly ChargeItem[]
  /** Priced units of a whole answer that were not reported, or of which nothing was reported that can be. */
  readonly missing: readonly string[]
  /** What was used and has no price of its own. */
  readonly unpriced: readonly string[]
  /** Why nothing is charged, where nothing is. */
  readonly reason: string
  /** What is left over for the key's next charge. */
  readonly carried: number
}

/**
 * The lines of an exchange that is over, and why there are none, or not all. A whole answer is charged as reported, and by an
 * estimate where nothing possible was reported; of one that the client cut, what was not counted is estimated; of one that the
 * upstream cut or failed, only what it reported is charged; anything else costs nothing.
 */
export function rateExchange(ended: Ended): RatedExchange {
  const { outcome } = ended
  const { reach } = outcome
  if (reach === 'untouched') return nothing(ended, 'not_sent')
  const { unread, body, facet } = ended
  if (unread !== undefined) return charged(ended, estimateRequest(body, facet), `answer_unrecognised: ${unread}`)
  if (reach === 'refused') return nothing(ended, 'upstream_refused')
  if (reach === 'unknown') return nothing(ended, 'outcome_unknown')
  if (outcome.kind === 'refused') return nothing(ended, 'not_delivered')
  if (!ended.usage && bodiless.has(outcome.status ?? 0)) return nothing(ended, 'no_content')
  if (ended.failed) return charged(ended, reportedUses(ended.usage), 'upstream_failed')
  if (reach === 'complete') return rateWhole(ended)
  const isLeft = outcome.kind === 'cut' && outcome.by === 'caller'
  if (!isLeft) return charged(ended, reportedUses(ended.usage), 'upstream_cut')
  return charged(ended, [...estimatedUses(ended), ...requestUses(ended)], 'caller_gone')
}

function rateWhole(ended: Ended): RatedExchange {
  const known = [...reportedUses(ended.usage), ...requestUses(ended)]
  const missing = missingOf(ended.rule, known, none)
  const reason = reasonOf(ended, missing)
  const uses = missing.length > 0 ? [...known, ...missingUses(ended, missing)] : known
  const rated = charged(ended, uses, reason, reason === 'nothing_used' ? [] : [reason])
  return { ...rated, missing, reason: reason === 'nothing_used' ? unpricedReason(rated.unpriced) : reason }
}

/** `unpriced: web_search, service_tier` names what has no price of its own. */
function unpricedReason(unpriced: readonly string[]): string {
  if (unpriced.length === 0) return 'nothing_used'
  return `unpriced: ${unpriced.map(unpricedName).join(', ')}`
}

function nothing({ carried = 0 }: Ended, reason: string): RatedExchange {
  return { lines: [], missing: [], unpriced: [], reason, carried }
}

function charged(ended: Ended, uses: readonly Use[], reason: string, flags: readonly string[] = []): RatedExchange {
  const { rule, usage, asked, at, carried } = ended
  const facts = factsOf(asked, usage?.facts)
  const rated = rateUsage(rule, { uses, facts, at, flags, ...(carried !== undefined && { carried }) })
  return { lines: rated.lines, missing: [], unpriced: rated.unpriced, reason, carried: rated.carried }
}

/** What the answer reports counts; the request counts for what the answer leaves out. */
function factsOf(asked: UsageFacts | undefined, reported: UsageFacts | undefined): UsageFacts {
  return asked ? { ...asked, ...reported } : (reported ?? {})
}

/** What an answer does not report that a person may have to see; `nothing_used` where it reported everything. */
function reasonOf({ implausible }: Ended, missing: readonly string[]): string {
  if (implausible.length > 0) return 'usage_implausible'
  return missing.length > 0 ? 'usage_missing' : 'nothing_used'
}

/** Units that the request itself counts. */
const inRequest: ReadonlySet<string> = new Set(['request', 'character'])
const none: ReadonlySet<string> = new Set()

/** Units of a rule that an answer has to report and does not; the request itself has some. */
export function missingUnits(rule: UsageRule, usage: Usage | null): readonly string[] {
  return missingOf(rule, reportedUses(usage), inRequest)
}

function missingOf(rule: UsageRule, known: readonly Use[], except: ReadonlySet<string>): readonly string[] {
  let missing: string[] | undefined
  for (const { unit } of rule.prices) if (!except.has(unit) && isMissing(unit, known)) (missing ??= []).push(unit)
  return missing ?? nothingMissing
}

const nothingMissing: readonly string[] = []

/** Kinds of a count and calls of tools are reported where there were any. */
function isMissing(unit: string, known: readonly Use[]): boolean {
  const facts = units.get(unit)
  if (facts?.parent !== undefined || facts?.call === true) return false
  for (const use of known) if (use.unit === unit) return false
  return true
}

/** What a whole answer did not report: its output by its length, all else by the request. */
function missingUses({ body, byLength, facet }: Ended, missing: readonly string[]): Use[] {
  const uses = estimateRequest(body, facet).filter(({ unit }) => missing.includes(unit) && unit !== 'character')
  return uses.map(use => (use.unit === 'output' ? { ...use, quantity: byLength } : use))
}

/** What the upstream counted. */
function reportedUses(usage: Usage | null): readonly Use[] {
  return usage ? usesOf(usage.counts, 'output') : []
}

/** What the request itself says. */
function requestUses({ body, facet }: Ended): readonly Use[] {
  const characters = countCharacters(body, facet.count_characters_of)
  if (characters === null) return oneRequest
  return [...oneRequest, { unit: 'character', quantity: characters, source: 'request' }]
}

const oneRequest: readonly Use[] = [{ unit: 'request', quantity: 1, source: 'request' }]

/** What was reported before the client left, and by their length the tokens that were not reported. */
function estimatedUses(ended: Ended): Use[] {
  const { body, facet, uncounted, usage } = ended
  const uses: Use[] = [...reportedUses(usage)]
  if (usage?.counts.input === undefined)
    uses.push({ unit: 'input', quantity: estimateInput(body, facet), source: 'default' })
  if (uncounted === 0) return uses
  const counted = uses.find(use => use.unit === 'output')?.quantity ?? 0
  return [
    ...uses.filter(use => use.unit !== 'output'),
    { unit: 'output', quantity: counted + uncounted, source: 'default' },
  ]
}
