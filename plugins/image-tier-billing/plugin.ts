import {
  type Answer,
  askedSizeSlot,
  chargeFacts,
  callerSlot,
  type Clock,
  defineSlot,
  definePlugin,
  forwardedFilesSlot,
  type RequestContext,
  type Outcome,
  type HoldResult,
  type Host,
  imageRefusalSlot,
  imagesMadeSlot,
  jobSlot,
  readField,
  type Reply,
  type StoredAnswer,
  type Target,
  overdrawnValues,
  tellOverdrawn,
  type TierRule,
  tokenUseSlot,
  responseMetadataSlot,
  useChargeId,
  wasStopped,
  withoutLength,
} from '../../src/plugin-api/index.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { avoidable } from './avoidable.ts'
import { BillingStage, failureOf } from './billing-stage.ts'
import { countPaths } from './count-paths.ts'
import { fail } from './errors.ts'
import { readIdempotency, readIdempotencyKey } from './idempotency.ts'
import { ImageCharge } from './image-charge.ts'
import { goesBySent } from './build-rule.ts'
import { measureInputs } from './input-pixels.ts'
import { inspect } from './inspect.ts'
import { prices } from './prices.ts'
import { quote } from './quote.ts'
import { quoteRequest, shapeSent } from './quote-request.ts'
import { isAbsent, readCount } from './read-count.ts'
import { readToolLimit } from './read-tool-limit.ts'
import { isEventStream, openScanner, typeOf } from './open-scanner.ts'
import { record } from './record.ts'
import { RefusalStage } from './refusal-stage.ts'
import { replay } from './replay.ts'
import { reprice } from './reprice.ts'
import { type BillingFacet, facetSchema, optionsSchema } from './schema.ts'
import { TranslatedAnswer } from './translated-answer.ts'
import { readRequestedSize, chargesImages, shapeOf, textOf } from './what-charges.ts'
import { wholeEventsBytesMax } from './held-record.ts'
import { isCountName } from './count-names.ts'

const unavailableMs = 5_000
const runningMs = 2_000

/** The state of an admitted request. */
type Billing = {
  readonly charge: ImageCharge
  readonly n: number
  readonly keyed: boolean
  stage: BillingStage | undefined
  /** Converts the answer to the requested kind, if it has the other kind. */
  turned?: TranslatedAnswer | undefined
}

const billingSlot = defineSlot<Billing>('image-billing')

/** Prices images by size tier (`docs/rules.md#tiers-and-prices`), and delivers none before its charge is committed. */
export const imageTierBilling = definePlugin({
  name: 'image-tier-billing',
  options: optionsSchema,
  facet: facetSchema,
  needs: [callerSlot, askedSizeSlot],
  charges: true,
  chargesItems: chargesImages,
  rule: 'tiers',
  inspect,
  quote: quoteRequest,
  prices,
  record,
  replay,
  reprice,
  avoidable,
  keepsKeys: (operation, facet) => shapeOf(operation, facet) !== 'none',
  create(_options, host) {
    const { clock, log, stores } = host
    const { ledger } = stores
    const turnedAnswers = host.keep('turned-answers', () => new ByteBudget(wholeEventsBytesMax))
    const wholeEvents = host.keep('whole-events', () => new ByteBudget(wholeEventsBytesMax))

    async function settle(context: RequestContext, outcome: Outcome, billing: Billing): Promise<void> {
      const { charge, stage, turned } = billing
      // The charge of the usage may settle before this one.
      if (stage?.isWithheld) context.notes.isWithheld = true
      try {
        // The engine or another plugin may have refused the answer before this plugin read it.
        if (context.notes.unrecognised) charge.see(context.notes.unrecognised)
        await charge.settle(outcome)
      } catch (cause) {
        // No charge is lost: the hold remains until recovery or the lease ends it.
        log.error({ charge: context.id, err: cause }, 'a charge could not be closed; recovery will close it')
      } finally {
        const { shape } = charge
        if (shape !== undefined) context.notes.unrecognised = { shape }
        stage?.close()
        turned?.close()
      }
    }

    return {
      onTarget(context, target, facet) {
        const shape = shapeOf(context.route.operation, facet)
        if (!target.chargesItems) return
        // The answer does not report which model created an image.
        const other = target.further?.find(({ runs }) => runs === 'instead')
        if (other) {
          const { model, place } = other
          throw fail('models_not_together', { model: model.name, other: target.model.name }, { param: place })
        }
        if (shape !== 'output') {
          readCount(target.body, target.family.nMax, countPaths(facet, shape))
          checkQuery(context.head.query)
        }
        readIdempotencyKey(context.head.headers['idempotency-key'])
        // A request without a price is refused before anything is reserved.
        if (goesBySent(facet)) quote({ ...quoteOf(context, target, facet), n: 1 })
        if (shape === 'data' && rendersUrl(target, facet) && target.stream) throw fail('response_format_not_streamed')
        if (!ledger.healthy()) throw fail('storage_unavailable', {}, { retryAfterMs: unavailableMs })
      },

      onAdmit(context, target, facet) {
        return target.chargesItems ? openCharge(host, context, target, facet) : undefined
      },

      onForward(context, out, facet) {
        const billing = context.slots.get(billingSlot)
        if (!billing) return out
        const { out: body, dropped } = shapeSent(out.body, facet, shapeOf(context.route.operation, facet))
        if (dropped.length > 0) noteDropped(context, dropped)
        return { ...out, body, detach: facet.on_caller_gone === 'bill' }
      },

      onReply(context, reply, facet, target) {
        const billing = context.slots.get(billingSlot)
        if (!billing || context.slots.get(jobSlot)?.handedOver === true) return reply
        billing.charge.comesFrom(target.upstream.name)
        if (reply.status < 200 || reply.status > 299) {
          // Whatever the status, an image in the response would be delivered unpaid.
          return { ...reply, stages: [...reply.stages, new RefusalStage(billing.charge, reply.status)] }
        }
        const contentType = readableType(billing.charge, reply.headers)
        const { operation } = context.route
        const asUrl = shapeOf(operation, facet) === 'data' && rendersUrl(target, facet)
        const came = reply.turnInto === undefined ? isEventStream(contentType, target) : reply.turnInto === 'whole'
        // Clients read only the requested kind, so the answer is converted if its shape is known.
        const isTurned = reply.turnInto !== undefined && shapeOf(operation, facet) === 'data'
        const events = isTurned ? !came : came
        const endUnknown = reply.endUnknown === true
        const scanner = openScanner(operation, facet, wholeEvents, { events, asUrl, endUnknown })
        if (!scanner) throw billing.charge.unrecognised('a stream of events')
        const type = isTurned ? (events ? 'text/event-stream' : 'application/json') : contentType
        const refusal = context.client && context.slots.get(imageRefusalSlot)
        const answer = { status: reply.status, contentType: type, keep: billing.keyed, refusal }
        billing.stage = new BillingStage(scanner, billing.charge, answer)
        if (isTurned) billing.turned = turn(billing.charge, context, { isStream: came, clock, budget: turnedAnswers })
        const headers = isTurned ? { ...withoutLength(reply.headers), 'content-type': type } : reply.headers
        return {
          ...reply,
          headers: asUrl ? withoutLength(headers) : headers,
          stages: [...reply.stages, ...(billing.turned ? [billing.turned] : []), billing.stage],
          // Brackets distinguish a truncated JSON answer from a complete one, whatever the connection reports.
          provesEnd: reply.provesEnd === true || !came,
        }
      },

      onResume: (context, _target, facet) => resumeCharge(host, context, facet),

      onSettle(context, outcome) {
        const billing = context.slots.get(billingSlot)
        if (!billing || goesOn(context, outcome)) return billing?.stage?.close()
        return settle(context, outcome, billing)
      },
    }
  },
})

/** Resumes the charge of a job. @throws Failure job_in_review */
async function resumeCharge(
  { clock, stores: { ledger } }: Host,
  context: RequestContext,
  facet: BillingFacet,
): Promise<void> {
  const stored = await ledger.find(context.id)
  // Another plugin may have created the charge.
  if (stored?.rule.kind !== 'tiers') return
  // An administrator decides its cost, so nothing more of it is delivered.
  if (stored.state === 'needs_review') throw fail('job_in_review', { charge: context.id })
  const { n, rule, lines } = stored
  const job = context.slots.get(jobSlot)
  if (job) job.hasBegun = stored.state === 'reserved' && lines.length > 0
  // If another request has ended the charge, its items are for the images that were paid; any other image is refused.
  const terms = {
    id: context.id,
    rule: rule as TierRule,
    n,
    ...leavingOf(facet),
    metadata: () => context.slots.get(responseMetadataSlot),
    linesBefore: lines.length,
  }
  context.slots.put(billingSlot, {
    charge: new ImageCharge(ledger, terms, clock),
    n,
    keyed: false,
    stage: undefined,
  })
}

function leavingOf({ over_return: overReturn, on_caller_gone: onCallerGone }: BillingFacet) {
  return { overReturn, onCallerGone }
}

/**
 * Whether another request ends the charge of the job: this one has handed it over, or the gateway or its storage
 * stops.
 */
function goesOn(context: RequestContext, outcome: Outcome): boolean {
  const job = context.slots.get(jobSlot)
  const code = 'failure' in outcome ? outcome.failure?.code : undefined
  if (job?.resumed && code === 'charge_not_recorded') return true
  return job !== undefined && (job.handedOver || (job.isOpen && wasStopped(outcome)))
}

/**
 * Reserves the maximum cost of the request before an upstream is called.
 * @returns the answer to a request without a separate charge
 * @throws Failure storage_unavailable, insufficient_quota, idempotency_in_progress, idempotency_mismatch,
 * already_completed
 */
async function openCharge(
  { clock, stores }: Host,
  context: RequestContext,
  target: Target,
  facet: BillingFacet,
): Promise<Answer | undefined> {
  const { ledger } = stores
  const { body, family } = target
  const shape = shapeOf(context.route.operation, facet)
  const isTool = shape === 'output'
  const limit = isTool ? readToolLimit(body) : readCount(body, family.nMax, countPaths(facet, shape))
  const n = limit ?? 1
  const about = quoteOf(context, target, facet)
  const measured = about.sent && (await measureInputs(facet, about.sent))
  const quoted = quote({ ...about, measured, n })
  const idempotency = await readIdempotency(context.head.headers['idempotency-key'], context.head.path, body)
  // An earlier plugin, which charges the usage, has set the slot.
  const rule = context.slots.get(tokenUseSlot) ? withUse(quoted.rule, context.id) : quoted.rule
  const facts = chargeFacts(context, target, {
    rule,
    n,
    size: about.requestedSize.text,
    quality: textOf(body, 'quality'),
  })
  const terms = {
    id: context.id,
    rule: quoted.rule,
    n: limit ?? Number.POSITIVE_INFINITY,
    ...leavingOf(facet),
    metadata: () => context.slots.get(responseMetadataSlot),
  }
  const charge = new ImageCharge(ledger, terms, clock)
  // Stored before the hold: if its commit is in doubt, the end of the request still releases it.
  context.slots.put(billingSlot, { charge, n, keyed: idempotency !== null, stage: undefined })
  context.slots.put(imagesMadeSlot, () => charge.images)
  const held = await ledger.hold({ facts, hold: quoted.atMost, idempotency }).catch(throwUnavailable)
  if (held.kind !== 'held') {
    context.slots.put(billingSlot, undefined)
    return answerWithout(held, quoted.atMost, facts.currency, stores)
  }
  context.notes.charge = true
  return undefined
}

/** The inputs of a price; they include the request itself only if prices depend on more than its size. */
function quoteOf(context: RequestContext, { body, family, model }: Target, facet: BillingFacet) {
  const files = context.slots.get(forwardedFilesSlot)
  const sent = goesBySent(facet) ? { body, family, operation: context.route.operation, files } : undefined
  return { facet, family, model, requestedSize: readRequestedSize(context.slots, body), ...(sent && { sent }) }
}

/**
 * The type of an answer that can be read for images.
 * @throws Failure upstream_answer_encoded, upstream_answer_unrecognised
 */
function readableType(charge: ImageCharge, headers: Reply['headers']): string {
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw charge.broken(fail('upstream_answer_encoded', { encoding }))
  const contentType = headers['content-type'] ?? 'application/json'
  // A picture without JSON has no element to count and would be delivered unpaid.
  const type = typeOf(contentType)
  if (!mayDescribe(type)) throw charge.unrecognised(`content-type ${type}`.slice(0, 80))
  return contentType
}

/** Converts an answer to the requested kind. */
function turn(
  charge: ImageCharge,
  { route }: RequestContext,
  { isStream, clock, budget }: { readonly isStream: boolean; readonly clock: Clock; readonly budget: ByteBudget },
): TranslatedAnswer {
  const kind = route.traits?.images === 'edited' ? 'image_edit' : 'image_generation'
  return new TranslatedAnswer({
    isStream,
    event: `${kind}.completed`,
    created: Math.floor(clock.now() / 1000),
    budget,
    onFault: cause => failureOf(charge, cause),
    onOmitted: shape => charge.leftOut(shape),
  })
}

/** Records further fields that were not forwarded. */
function noteDropped({ notes }: RequestContext, dropped: readonly string[]): void {
  notes.forwarded = notes.forwarded.filter(name => !dropped.includes(name))
  notes.dropped = [...notes.dropped, ...dropped.filter(name => !notes.dropped.includes(name))]
}

/** Adds a warning with the id of the charge for the request's other usage. */
function withUse(rule: TierRule, id: string): TierRule {
  const use = `other usage of the request, if it is charged, is charged as ${useChargeId(id)}`
  const warning = `this is the price of the images; ${use}`
  return { ...rule, warnings: [...rule.warnings, warning] }
}

/**
 * Whether the client requests links although this family's upstream only returns bytes. @throws Failure for another
 * format
 */
function rendersUrl(target: Target, facet: BillingFacet): boolean {
  if (!facet.render) return false
  const format = readField(target.body, 'response_format')
  if (isAbsent(format, false) || format === 'b64_json') return false
  if (format === 'url') return true
  throw fail('invalid_response_format', { value: JSON.stringify(format).slice(0, 40) })
}

/** The answer to a request without a separate charge. @throws Failure unless an answer was stored for it or its job */
async function answerWithout(
  held: Exclude<HoldResult, { kind: 'held' }>,
  hold: number,
  currency: string,
  { jobs }: Pick<Host['stores'], 'jobs'>,
): Promise<Answer> {
  if (held.kind === 'overdrawn') {
    throw fail('insufficient_quota', tellOverdrawn(held, hold, currency), {
      values: overdrawnValues(held, hold, currency),
    })
  }
  const { chargeId: charge } = held
  if (held.kind === 'running') throw fail('idempotency_in_progress', { charge }, { retryAfterMs: runningMs })
  if (held.kind === 'mismatch') throw fail('idempotency_mismatch', { charge })
  const answer = held.answer ?? (await answerOfJob(jobs, charge))
  if (!answer) throw fail('already_completed', { charge })
  return replayed(answer)
}

/** The answer of a job that has ended. @throws Failure storage_unavailable */
async function answerOfJob(jobs: Host['stores']['jobs'], id: string): Promise<StoredAnswer | null | undefined> {
  try {
    return (await jobs.find(id))?.answer
  } catch (cause) {
    return throwUnavailable(cause)
  }
}

function throwUnavailable(cause: unknown): never {
  throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
}

function replayed(answer: StoredAnswer): Answer {
  return { status: answer.status, headers: { ...answer.headers, 'idempotent-replayed': 'true' }, body: answer.body }
}

/** Whether an answer of this type is searched for images; text of any kind may be JSON and is read as JSON. */
function mayDescribe(type: string): boolean {
  return type === '' || type === 'application/json' || type.endsWith('+json') || type.startsWith('text/')
}

/**
 * Refuses a number of images in the address, which is forwarded unchanged and read by some upstreams.
 * @throws Failure `count_in_address`
 */
function checkQuery(query: string): void {
  for (const name of new URLSearchParams(query).keys())
    if (name.split(/[.[\]]/).some(part => part !== '' && isCountName(part)))
      throw fail('count_in_address', { name: name.slice(0, 40) })
}
