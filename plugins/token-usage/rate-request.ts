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
import { estimateInput, estimateRequest, secondsOf } from './estimate-request.ts'
import type { UsageFacet } from './schema.ts'

/** Statuses of answers without a body (RFC 9110 15): nothing was created. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/** All facts that a request's charge depends on at its end. */
export type Ended = {
  readonly rule: UsageRule
  readonly facet: UsageFacet
  readonly outcome: Outcome
  /** The client's input. */
  readonly body: Body
  /** The input as sent to the upstream, if a guard replaced some of its text. */
  readonly sent?: Body
  /** The plausible part of the upstream's report; null without a report. */
  readonly usage: Usage | null
  /** Units with implausible counts; they are not in `usage`. */
  readonly implausible: readonly string[]
  /** Output tokens without a report, by their length. */
  readonly uncounted: number
  /** All output tokens, by their length. */
  readonly byLength: number
  /** The length of the answer. */
  readonly answerBytes?: number
  /** Whether the answer consists of vectors, which are no output. */
  readonly answersVectors?: true | undefined
  /** Whether the upstream reported an error inside its answer. */
  readonly failed: boolean
  /** Whether the answer has no bytes, or only blanks. */
  readonly isEmpty?: boolean
  /** Whether a guard withheld the answer, which the upstream has sold. */
  readonly blocked?: boolean
  /** Whether nothing of a stream was delivered but an error. */
  readonly isWithheld?: boolean
  /** The shape of an answer that was not delivered, so that only its request shows its possible cost. */
  readonly unread?: string | undefined
  /** The facts of the request that prices may depend on; the answer's facts replace them. */
  readonly requested?: UsageFacts
  /** The start of the request, in milliseconds since the epoch. */
  readonly at: number
  /** The remainder of the key's earlier charges, in parts of a micro-unit. */
  readonly carried?: number
}

export type RatedRequest = {
  readonly lines: readonly ChargeItem[]
  /** Priced units of a complete answer without a report, or with an implausible one. */
  readonly missing: readonly string[]
  /** Used units without a separate price. */
  readonly unpriced: readonly string[]
  /** The reason why nothing is charged. */
  readonly reason: string
  /** The remainder for the key's next charge. */
  readonly carried: number
}

/**
 * The charge items of an ended request, and the reason if some or all are missing. A complete answer is charged as
 * reported, or by an estimate without a plausible report. If the client cut it, the uncounted part is estimated; if
 * the upstream cut or failed it, only the reported usage is charged; anything else is free.
 */
export function rateRequest(ended: Ended): RatedRequest {
  const { outcome } = ended
  const { reach } = outcome
  if (reach === 'untouched') return nothing(ended, 'not_sent')
  const { unread, body, facet, answersVectors } = ended
  if (unread !== undefined)
    return charged(
      ended,
      estimateRequest(body, facet, answersVectors && { answersVectors }),
      `answer_unrecognised: ${unread}`,
    )
  if (reach === 'refused') return nothing(ended, 'upstream_refused')
  if (reach === 'unknown') return nothing(ended, 'outcome_unknown')
  if ((outcome.kind === 'refused' || ended.isWithheld) && !ended.blocked) return nothing(ended, 'not_delivered')
  const isBodiless = bodiless.has(outcome.status ?? 0) || (ended.isEmpty && reach === 'complete')
  if (!ended.usage && isBodiless) return nothing(ended, 'no_content')
  if (ended.failed) return charged(ended, reportedUses(ended.usage), 'upstream_failed')
  if (reach === 'complete') return rateWhole(ended)
  const isLeft = outcome.kind === 'cut' && outcome.by === 'caller'
  if (!isLeft) return charged(ended, reportedUses(ended.usage), 'upstream_cut')
  const known = [...estimatedUses(ended), ...requestUses(ended)]
  return charged(ended, [...known, ...unreportedUses(ended, known)], 'caller_gone')
}

/** The usage of a complete answer: as reported, or else estimated. */
export function usesOfWhole(ended: Ended): {
  readonly uses: readonly Use[]
  readonly missing: readonly string[]
  /** `nothing_used` if nothing is missing. */
  readonly reason: string
} {
  const known = [...reportedUses(ended.usage), ...requestUses(ended)]
  const missing = missingOf(ended.rule, known, ended.answersVectors ? output : none)
  const uses = missing.length > 0 ? [...known, ...missingUses(ended, missing)] : known
  return { uses, missing, reason: reasonOf(ended, missing) }
}

function rateWhole(ended: Ended): RatedRequest {
  const { uses, missing, reason } = usesOfWhole(ended)
  const rated = charged(ended, uses, reason, reason === 'nothing_used' ? [] : [reason])
  return { ...rated, missing, reason: reason === 'nothing_used' ? unpricedReason(rated.unpriced) : reason }
}

/** The reason for units without a separate price: `unpriced: web_search, service_tier`. */
function unpricedReason(unpriced: readonly string[]): string {
  if (unpriced.length === 0) return 'nothing_used'
  return `unpriced: ${unpriced.map(unpricedName).join(', ')}`
}

function nothing({ carried = 0 }: Ended, reason: string): RatedRequest {
  return { lines: [], missing: [], unpriced: [], reason, carried }
}

function charged(ended: Ended, uses: readonly Use[], reason: string, flags: readonly string[] = []): RatedRequest {
  const { rule, usage, requested, at, carried } = ended
  const facts = factsOf(requested, usage?.facts)
  const rated = rateUsage(rule, { uses, facts, at, flags, ...(carried !== undefined && { carried }) })
  return { lines: rated.lines, missing: [], unpriced: rated.unpriced, reason, carried: rated.carried }
}

/** Combines facts: the answer's report takes precedence over the request. */
function factsOf(requested: UsageFacts | undefined, reported: UsageFacts | undefined): UsageFacts {
  return requested ? { ...requested, ...reported } : (reported ?? {})
}

/**
 * The reason for units that the answer does not report and that may need a review; `nothing_used` if it reported
 * everything.
 */
function reasonOf({ implausible }: Ended, missing: readonly string[]): string {
  if (implausible.length > 0) return 'usage_implausible'
  return missing.length > 0 ? 'usage_missing' : 'nothing_used'
}

/** Units that are counted from the request. */
export const inRequest: ReadonlySet<string> = new Set(['request', 'character'])
const none: ReadonlySet<string> = new Set()
const output: ReadonlySet<string> = new Set(['output'])

/** Units of a rule that an answer should report and does not, without those that are counted from the request. */
export function missingUnits(rule: UsageRule, usage: Usage | null, answersVectors?: boolean): readonly string[] {
  return missingOf(rule, reportedUses(usage), answersVectors ? inRequest.union(output) : inRequest)
}

function missingOf(rule: UsageRule, known: readonly Use[], except: ReadonlySet<string>): readonly string[] {
  let missing: string[] | undefined
  for (const { unit } of rule.prices) if (!except.has(unit) && isMissing(unit, known)) (missing ??= []).push(unit)
  return missing ?? nothingMissing
}

const nothingMissing: readonly string[] = []

/** Whether a unit is missing. Kinds of a count and tool calls are reported only if there were any. */
function isMissing(unit: string, known: readonly Use[]): boolean {
  const facts = units.get(unit)
  if (facts?.parent !== undefined || facts?.call === true) return false
  for (const use of known) if (use.unit === unit) return false
  return true
}

/** The unreported usage of a complete answer: its output and its audio by length, everything else by the request. */
function missingUses({ body, byLength, answerBytes = 0, facet }: Ended, missing: readonly string[]): Use[] {
  const uses = estimateRequest(body, facet).filter(({ unit }) => missing.includes(unit) && unit !== 'character')
  return uses.map(use => {
    if (use.unit === 'output') return { ...use, quantity: byLength }
    // Without a recording in the request, the audio is the answer.
    return use.unit === 'second' && use.quantity === 0 ? { ...use, quantity: secondsOf(answerBytes) } : use
  })
}

/** Priced usage besides tokens that an answer would have reported at its end, once some of it has arrived. */
function unreportedUses(ended: Ended, known: readonly Use[]): readonly Use[] {
  if (!ended.answerBytes) return []
  return missingUses(ended, missingOf(ended.rule, known, tokens))
}

const tokens: ReadonlySet<string> = new Set(['input', 'output'])

/** The usage that the upstream counted. */
function reportedUses(usage: Usage | null): readonly Use[] {
  return usage ? usesOf(usage.counts, 'output') : []
}

/** The usage that is counted from the request. */
export function requestUses({ body, sent = body, facet }: Pick<Ended, 'body' | 'sent' | 'facet'>): readonly Use[] {
  const { count_characters_of: field } = facet
  const characters = countCharacters(sent, field) ?? countCharacters(body, field)
  if (characters === null) return oneRequest
  return [...oneRequest, { unit: 'character', quantity: characters, source: 'request' }]
}

const oneRequest: readonly Use[] = [{ unit: 'request', quantity: 1, source: 'request' }]

/** The usage reported before the client left, and the unreported tokens by length. */
function estimatedUses(ended: Ended): Use[] {
  const { body, facet, usage } = ended
  const uncounted = ended.answersVectors ? 0 : ended.uncounted
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
