import {
  attributionSlot,
  chargeFacts,
  callerSlot,
  defineSlot,
  definePlugin,
  detachedJobSlot,
  type Body,
  type RequestContext,
  Failure,
  formatMoney,
  imageToolOf,
  type Hooks,
  imageChargeSlot,
  imagesMadeSlot,
  type Log,
  type Outbound,
  type Outcome,
  readCost,
  readField,
  storedObjectSlot,
  type Reply,
  type Stores,
  type Target,
  isBounded,
  type Json,
  timeOfId,
  tokenUseSlot,
  type UnitPrice,
  type Usage,
  type UnitRow,
  type UsageRule,
  useChargeId,
  withField,
  withoutLength,
  isObject,
} from '../../src/plugin-api/index.ts'
import { LRUCache } from 'lru-cache'
import { fail } from './errors.ts'
import { requestFactsAt, ordinaryFacts } from './request-facts.ts'
import { checkDeferred, createTakenStage, type DeferredWork } from './deferred/deferred-work.ts'
import { withDeferred } from './deferred/deferred-hooks.ts'
import type { BatchTools } from './deferred/batch/batch-work.ts'
import { inspect } from './inspect.ts'
import { refuseTextless, refuseUnpriced } from './refuse-unpriced.ts'
import { estimateInput } from './estimate-request.ts'
import { holdMaximum, unavailableMs } from './hold-maximum.ts'
import { checkUsage, withoutZeroReport, type CheckedUsage } from './check-usage.ts'
import { measureInTurns } from './measure-text.ts'
import { needsReview } from './needs-review.ts'
import { PlainReading } from './plain-reading.ts'
import { missingUnits, rateRequest } from './rate-request.ts'
import { quoteRequest, rateMost } from './quote-request.ts'
import { record } from './record.ts'
import { replay } from './replay.ts'
import { reprice } from './reprice.ts'
import { Reports } from './reports.ts'
import { reviewCharge } from './review-charge.ts'
import { EventReading, JsonReading, type Reading, type ReadingOptions } from './reading.ts'
import { facetSchema, optionsSchema, type UsageFacet } from './schema.ts'
import { requestedStorage } from './stored-tokens.ts'
import { TokenCount } from './token-count.ts'
import { isFree, policyOf, usageRule } from './usage-rule.ts'
import { answeredBy, mostExpensiveOf, type Payable, payablesOf } from './answering-model.ts'
import { WithheldReading } from './withheld-reading.ts'

/**
 * The maximum data bytes of an event that repeats images: the last event of a stream reports the usage, and repeats
 * its images.
 */
const longEventBytesMax = 16 * 1024 * 1024

/** The state of an admitted request. */
type Counting = {
  /** The possible models and rules: several if the body names several models, one of which answers. */
  readonly payables: readonly Payable[]
  /** The most expensive model, whose rule the hold uses; it also charges the answer of an unknown model. */
  readonly mostExpensive: Payable
  /** The facet of the model that was tried last; `target` has its upstream. */
  facet: UsageFacet
  target: Target
  /** The body that was sent to the upstream: guards may have replaced some of its text. */
  sent?: Body
  held: boolean
  /** Whether the images of the request are charged in addition, under the request's own id. */
  readonly hasImages: boolean
  /** The id of the charge for the usage of the request. */
  readonly chargeId: string
  /** Whether the gateway requested the usage, not the client. */
  removesUsage: boolean
  reading: Reading | undefined
  /** The work that continues after the response; undefined if the response ends it. */
  readonly deferred: DeferredWork | undefined
}

/** The plugin's dependencies. */
type Tools = {
  readonly ledger: Stores['ledger']
  readonly log: Log
  readonly reports: Reports
  /** The remainder after rounding a key's charges, in parts of a micro-unit: added to its next charge. */
  readonly carried: LRUCache<string, number>
}

/** The maximum number of keys with a stored remainder; a dropped one loses at most half a micro-unit. */
const carriedMax = 100_000
/** Limited by size, because with `max` lru-cache allocates all of its slots at once, which takes a tenth of a start. */
const newCarried = () => new LRUCache<string, number>({ maxSize: carriedMax, sizeCalculation: () => 1 })

const countingSlot = defineSlot<Counting>('token-usage')

/** Reads the usage in an answer as it passes, and charges it afterwards (`docs/billing.md`). */
export const tokenUsage = definePlugin({
  name: 'token-usage',
  charges: true,
  options: optionsSchema,
  facet: facetSchema,
  needs: [callerSlot],
  rule: 'usage',
  inspect,
  quote: quoteRequest,
  prices({ model }) {
    // The price page has no group, so it shows prices without a multiplier.
    const { prices = [], overrides = [], times = [] } = usageRule(model, '1') ?? {}
    return {
      units: prices.map(toUnitPrice),
      overrides: overrides.map(one => ({ if: one.if, units: one.prices.map(toUnitPrice) })),
      times: times.map(({ if: conditions, by }) => ({ if: conditions, by })),
    }
  },
  record,
  replay,
  reprice,
  create(_options, host) {
    const { clock, log, stores } = host
    const { ledger } = stores
    const reports = new Reports(
      log,
      host.keep('missing-told', () => new Set<string>()),
    )
    const carried = host.keep('carried', () => newCarried())
    const tools: Tools = { ledger, log, reports, carried }
    const workTools: BatchTools = { stores, clock, log, parseObject: bytes => host.parseObject(bytes) }

    const hooks: Hooks<UsageFacet> = {
      onBody(_context, body) {
        const measuring = body.kind === 'json' ? measureInTurns(body.json.bytes) : undefined
        return measuring ? measuring.then(() => body) : body
      },

      onTarget(context, target, facet) {
        const { traits } = context.route
        if (facet.image_tools === 'refuse' && traits?.imageTools) refuseImageTools(target)
        const payables = payablesFor(context, target, facet)
        refuseUncharged(context, target, facet, payables)
        const isPaid = payables.some(({ rule }) => rule)
        if (isPaid && !ledger.healthy()) throw fail('storage_unavailable', {}, { retryAfterMs: unavailableMs })
        if (isPaid && checkDeferred(context, target, paysImages(context, target)))
          context.slots.put(detachedJobSlot, true)
        // A connection itself has no usage; its turns do.
        if (!isFree(context.route, facet) && context.part?.kind !== 'session')
          context.slots.put(
            tokenUseSlot,
            new TokenCount(target, { facet, traits, inputMin: inputOfTurn(context) }, () => ({
              reading: context.slots.get(countingSlot)?.reading,
              hasImages: paysImages(context, target),
            })),
          )
      },

      onAdmit(context, target, facet) {
        if (context.part?.kind === 'session') return undefined
        const hasImages = paysImages(context, target)
        if (context.route.traits?.images === undefined && !hasImages) refuseImageTools(target)
        const payables = payablesFor(context, target, facet)
        const mostExpensive = mostExpensiveOf(payables, target.body, context.route.traits)
        const { rule } = mostExpensive
        const chargeId = hasImages ? useChargeId(context.id) : context.id
        const fresh = { held: false, removesUsage: false, reading: undefined }
        const traits = rule && checkDeferred(context, target, hasImages)
        const deferred: DeferredWork | undefined = traits && { traits, course: 'requested' }
        const counting: Counting = { payables, mostExpensive, facet, target, hasImages, chargeId, deferred, ...fresh }
        context.slots.put(countingSlot, counting)
        // The charge of deferred work must exist before the work does, because a job ends it.
        const isHeld = deferred || isBounded(context.slots.need(callerSlot), context.slots.get(attributionSlot))
        if (!rule || !isHeld) return undefined
        return hold(tools, context, counting, rule)
      },

      onForward(context, out, facet, target) {
        const counting = context.slots.get(countingSlot)
        if (!counting) return out
        Object.assign(counting, { target, facet, sent: out.body, removesUsage: false })
        const sent = facet.include_usage ? askForUsage(context, out, counting) : out
        if (!counting.mostExpensive.rule) return sent
        return { ...sent, detach: out.detach === true || (() => readsOn(counting)) }
      },

      onReply(context, reply, facet) {
        const counting = context.slots.get(countingSlot)
        if (!counting || reply.status < 200 || reply.status > 299) return reply
        const { removesUsage } = counting
        const { dialect, route } = context
        const reading = openReading(reply, {
          dialect,
          operation: route.operation,
          before: beforeOf(context),
          bytesPerToken: facet.estimate.bytes_per_token,
          fileTokens: facet.estimate.file_tokens,
          removesUsage,
          ...(route.traits?.usageBehind !== undefined && { usageBehind: route.traits.usageBehind }),
          wantsModel: counting.payables.length > 1 && counting.target.further !== undefined,
          // Such an event repeats the request, of any length, before its usage.
          ...((counting.hasImages || route.traits?.longLastEvent) && { bytesMax: longEventBytesMax }),
        })
        const stage = mayRefuse(counting, reading)
          ? new WithheldReading(reading, () => refuseUncounted(counting, reading, route.traits?.answersVectors))
          : reading
        counting.reading = stage
        const { deferred: work, target } = counting
        // Detects whether the upstream has accepted work that continues after the response.
        const taken = work ? [createTakenStage(workTools, { context, target, work }, reply)] : []
        const headers = removesUsage ? withoutLength(reply.headers) : reply.headers
        return { ...reply, headers, stages: [...reply.stages, ...taken, stage] }
      },

      onSettle(context, outcome) {
        const counting = context.slots.get(countingSlot)
        return counting && settle(tools, context, outcome, counting)
      },
    }
    return withDeferred(hooks, workTools, host.plan)
  },
})

/** Reserves the maximum cost of the request from its budgets, before an upstream is called. */
async function hold(
  { ledger }: Tools,
  context: RequestContext,
  counting: Counting,
  rule: UsageRule,
): Promise<undefined> {
  const { target, mostExpensive } = counting
  const { facet } = mostExpensive
  const facts = chargeFacts(context, { ...target, model: mostExpensive.model }, { id: counting.chargeId, rule })
  const storage = context.route.traits?.storesTokens && {
    cache_storage: requestedStorage(target.body, context, beforeOf(context), estimateInput(target.body, facet)),
  }
  const counts = { input: inputOfTurn(context), ...storage }
  const { amount: most } = rateMost(rule, target.body, facet, context.route.traits, counts)
  // Stored before the hold: if its commit is in doubt, the end of the request still releases it.
  counting.held = true
  try {
    await holdMaximum(ledger, facts, most)
  } catch (error) {
    if (error instanceof Failure && error.code === 'insufficient_quota') counting.held = false
    throw error
  }
  context.notes.charge = true
  return undefined
}

/** The stored object that the request changes, in its earlier state at the upstream. */
function beforeOf({ slots }: RequestContext): Json {
  const shown = slots.get(storedObjectSlot)?.shown
  return shown === undefined || shown === null ? null : (JSON.parse(shown) as Json)
}

/** For a turn on a WebSocket: the tokens of the conversation so far, all of which count again. */
function inputOfTurn({ part }: RequestContext): number {
  return part?.kind === 'turn' ? part.inputTokens : 0
}

/**
 * Whether the rest is read for the charge if the client disconnects now. With `free`, it is read if only the usage is
 * missing.
 */
function readsOn({ facet, reading }: Counting): boolean {
  return facet.on_caller_gone === 'bill' || reading?.reportsUsageNext === true
}

/** Records the usage and charges for it. Waits only for the end of a hold that costs nothing. */
function settle(
  tools: Tools,
  context: RequestContext,
  outcome: Outcome,
  counting: Counting,
): Promise<void> | undefined {
  const { ledger, log, reports } = tools
  const { chargeId, facet, held, reading, target } = counting
  const { usage, implausible } = judge(context, counting, reading)
  context.notes.inputTokens = usage?.counts.input ?? null
  context.notes.outputTokens = usage?.counts.output ?? null
  if (context.plan.otlp && reading) {
    const { model: answeredModel, finishReasons, isStream } = reading
    context.notes.answer = { model: answeredModel, finishReasons, isStream, counts: usage?.counts ?? {} }
  }
  const failed = reading?.fault !== undefined
  if (failed) {
    context.notes.failed = 'upstream_failed'
    log.warn(
      { request: context.id, model: target.model.name, fault: reading.fault },
      'an upstream failed during its response',
    )
  }
  if (counting.deferred && (counting.deferred.course !== 'requested' || mayContinue(context, outcome, usage)))
    return leaveDeferred(tools, counting)
  const { body } = target
  const lengths = lengthsOf(counting, implausible)
  const isPaid = facet.beside_images === 'free' && (context.slots.get(imagesMadeSlot)?.() ?? 0) > 0
  const { id: keyId } = context.slots.need(callerSlot).key
  const carried = tools.carried.get(keyId) ?? 0
  const nothing = { lines: [], missing: [], unpriced: [], reason: 'nothing_used', carried } as const
  const requested = requestFactsAt(target.upstream, body)
  const at = requestTime(context)
  const unread = unreadShape(context, outcome, counting)
  const blocked = context.notes.blocked !== undefined
  const answerBytes = reading?.bytes ?? 0
  const isWithheld = context.notes.isWithheld === true
  const { sent = body } = counting
  const request = { facet, body, sent, requested, at }
  // The parts of a session have no bytes of their own.
  const hasNothing = reading?.bytes === 0 || reading?.isEmpty === true
  const isEmpty = (!context.part && hasNothing) || context.notes.unrecognised?.isEmpty === true
  const ended = {
    ...request,
    outcome,
    usage,
    implausible,
    failed,
    isEmpty,
    blocked,
    isWithheld,
    unread,
    carried,
    answerBytes,
    answersVectors: context.route.traits?.answersVectors,
    ...lengths,
  }
  const rate = ({ rule }: Payable) => (rule && !isPaid ? rateRequest({ rule, ...ended }) : nothing)
  const answered = payableOf(counting)
  const first = rate(answered)
  // A charge that needs a review keeps the model of its hold, at its highest price.
  const isLeft = held && (unread !== undefined || needsReview(facet, answered.model, { implausible, ...first }))
  const { model, rule } = isLeft ? counting.mostExpensive : answered
  const rated = isLeft ? rate(counting.mostExpensive) : first
  if (!rule && !held) return undefined
  if (implausible.length > 0) reports.implausible(context, target, { units: implausible, reported: reading?.usage() })
  else if (rated.missing.length > 0) reports.missing(context, target, rated.missing)
  if (rated.unpriced.length > 0) reports.unpriced(context, target, rated.unpriced)
  if (usage?.unread) reports.unread(context, target, usage.unread)
  if (rule && rated.lines.length > 0) {
    context.notes.charge = true
    const facts = chargeFacts(context, { ...target, model }, { id: chargeId, rule })
    const delivery = outcome.kind === 'answered' ? 'confirmed' : 'partial'
    tools.carried.set(keyId, rated.carried)
    const vendorCost = usage?.cost === undefined ? undefined : readCost(usage.cost)
    if (unread !== undefined || needsReview(facet, model, { implausible, ...rated }))
      return reviewCharge({ ledger, log }, { ...rated, facts, delivery, held, vendorCost })
    ledger.post(facts, rated.lines, delivery, vendorCost)
    return undefined
  }
  if (!held) return undefined
  return ledger.void(chargeId, rated.reason).then(
    () => undefined,
    // Nothing is lost: the ledger ends the hold as soon as it can write.
    (cause: unknown) => log.error({ charge: chargeId, err: cause }, 'a hold could not be released yet'),
  )
}

/** Whether the upstream may have accepted work without an id or a use that reached the gateway. */
function mayContinue({ notes }: RequestContext, { reach }: Outcome, usage: Usage | null): boolean {
  return usage === null && !notes.unrecognised && (reach === 'unknown' || reach === 'truncated')
}

/** Leaves continuing work: its job ends the charge; without a job, the charge needs a review. */
function leaveDeferred({ ledger, log }: Tools, { chargeId, deferred }: Counting): Promise<void> | undefined {
  if (deferred?.course === 'taken') return undefined
  return ledger.review(chargeId, 'background_not_recorded', { hold: 'kept' }).then(
    () => undefined,
    (cause: unknown) => log.error({ charge: chargeId, err: cause }, 'a charge could not be left for review yet'),
  )
}

/** The shape of an answer that was withheld because of it. If images are charged, their charge needs the review. */
function unreadShape(context: RequestContext, outcome: Outcome, { hasImages }: Counting): string | undefined {
  const { unrecognised } = context.notes
  // An empty answer holds nothing that was sold.
  if (outcome.kind === 'answered' || outcome.reach === 'untouched' || hasImages || unrecognised?.isEmpty)
    return undefined
  return unrecognised?.shape
}

/** The plausible part of the answer's report. */
function judge({ part }: RequestContext, { facet, target }: Counting, reading: Reading | undefined): CheckedUsage {
  const reported = reading?.usage() ?? null
  const facts = reported && ordinaryFacts(reported.facts)
  const usage = reported && facts && facts !== reported.facts ? { ...reported, facts } : reported
  const sentBytes = part?.kind === 'turn' ? part.sentBytes() : undefined
  return checkUsage(usage, { body: target.body, answerBytes: reading?.bytes ?? 0, facet, sentBytes })
}

/** Output tokens by length: of the uncounted part, and of all. */
function lengthsOf(
  { facet, hasImages, reading }: Counting,
  implausible: readonly string[],
): { readonly uncounted: number; readonly byLength: number } {
  const byLength = reading?.byLength() ?? 0
  // By length, an image would count as many thousand text tokens.
  if (hasImages) return { uncounted: 0, byLength: Math.min(byLength, facet.estimate.output_tokens) }
  return { uncounted: implausible.includes('output') ? byLength : (reading?.uncounted() ?? 0), byLength }
}

/** The start of the request, from its id, so that a stored charge is rated again with the same time. */
function requestTime(context: RequestContext): number {
  const at = timeOfId('req_', context.id)
  return Number.isNaN(at) ? 0 : at
}

/**
 * Whether an answer that was not sent yet may be refused for a missing report. Images are paid before the end of the
 * answer, so it cannot.
 */
function mayRefuse({ facet, mostExpensive, hasImages }: Counting, reading: Reading): boolean {
  if (facet.missing_usage !== 'refuse' || mostExpensive.rule === undefined) return false
  return reading instanceof JsonReading && !hasImages
}

/** @throws Failure upstream_usage_missing for an answer without an error and without the counts of its prices */
function refuseUncounted(counting: Counting, reading: Reading, answersVectors?: boolean): void {
  const { rule } = payableOf(counting)
  if (!rule || reading.fault !== undefined) return
  const missing = missingUnits(rule, withoutZeroReport(reading.usage()), answersVectors)
  if (missing.length > 0) throw fail('upstream_usage_missing', { units: missing.join(', ') })
}

/** The possible models and rules of the request's charge: empty if it is free. */
function payablesFor(context: RequestContext, target: Target, facet: UsageFacet): readonly Payable[] {
  const { multiplier } = context.slots.need(callerSlot).group
  return payablesOf(target, facet, (model, its) =>
    isFree(context.route, its) ? undefined : usageRule(model, multiplier),
  )
}

/** The rule by which the request is charged at its end. */
function payableOf({ payables, mostExpensive, target, reading }: Counting): Payable {
  return payables.length === 1 ? mostExpensive : (answeredBy(payables, target, reading?.model) ?? mostExpensive)
}

/** Refuses requests that would not be charged, or not at their own price. @throws Failure */
function refuseUncharged(
  { route }: RequestContext,
  { model: own, body }: Target,
  facet: UsageFacet,
  payables: readonly Payable[],
): void {
  if (policyOf(own, facet) === 'refuse')
    for (const { model, rule } of payables) refuseUnpriced(model, rule, body, route.traits)
  if (!isFree(route, facet)) refuseTextless(own, payables[0]?.rule, facet, body)
}

/**
 * Refuses tools that create images, which token prices alone would not pay for (`docs/price-rules.md#image-tools`).
 * @throws Failure image_tool_refused, with its path
 */
function refuseImageTools({ body, model }: Target): void {
  const tool = imageToolOf(body)
  if (!tool) return
  const { name, place } = tool
  throw fail('image_tool_refused', { model: model.name, tool: name, place }, { param: place })
}

/** Whether the images of the request are charged in addition to its usage. Plugins of earlier versions set the slot. */
function paysImages(context: RequestContext, target: Target): boolean {
  return target.chargesItems || context.slots.get(imageChargeSlot) !== undefined
}

/** Requests the usage from streams that report it only on request (wire facts 5). */
function askForUsage(context: RequestContext, out: Outbound, counting: Counting): Outbound {
  const { target } = counting
  if (!target.stream || !context.route.traits?.usageOnDemand || out.body.kind !== 'json') return out
  const value = readField(target.body, 'stream_options')
  const options = isObject(value) ? value : {}
  counting.removesUsage = options['include_usage'] !== true
  const body = withField(out.body, 'stream_options', { ...options, include_usage: true })
  return { ...out, body }
}

/** Creates the reader for this answer. Text and audio report no usage, but have a length. */
function openReading(reply: Reply, options: ReadingOptions & { readonly fileTokens: number }): Reading {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = 'application/json' } = reply.headers
  const isPlain = encoding === 'identity'
  if (isPlain && type.startsWith('text/event-stream')) return new EventReading(options)
  if (isPlain && type.includes('json')) return new JsonReading(options)
  return new PlainReading({ ...options, isText: !isPlain || type.startsWith('text/') })
}

function toUnitPrice({ unit, price, per }: UnitRow): UnitPrice {
  return { unit, price: formatMoney(price), per }
}
