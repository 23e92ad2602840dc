import {
  type Answer,
  type AskedSize,
  askedSizeSlot,
  asksForImageTool,
  type Body,
  type ChargeFacts,
  callerSlot,
  defineSlot,
  definePlugin,
  type Exchange,
  type HoldResult,
  imageChargeSlot,
  readField,
  type StoredAnswer,
  type Target,
  tellOverdrawn,
  type TierRule,
  useChargeId,
  withField,
} from '../../src/kit/index.ts'
import { Allowance, wholeEventsBytesMax } from './allowance.ts'
import { BillingStage } from './billing-stage.ts'
import { checkQuery } from './check-query.ts'
import { countPaths } from './count-paths.ts'
import { fail } from './errors.ts'
import { shapeFields, shapeTools } from './forward-fields.ts'
import { readIdempotency, readIdempotencyKey } from './idempotency.ts'
import { ImageCharge } from './image-charge.ts'
import { inspect } from './inspect.ts'
import { quote } from './quote.ts'
import { isAbsent, readCount } from './read-count.ts'
import { readToolLimit } from './read-tool-limit.ts'
import { EventScanner } from './scan-events.ts'
import { ImageScanner, type ImageScannerOptions } from './scan-images.ts'
import type { AnswerWords } from './remainder.ts'
import { RefusalStage } from './refusal-stage.ts'
import { ToolAnswerScanner } from './scan-tool-answer.ts'
import { ToolEventScanner } from './scan-tool-events.ts'
import type { Scanner } from './scanned.ts'
import { type BillingFacet, facetSchema, optionsSchema } from './schema.ts'

const unavailableMs = 5_000
const runningMs = 2_000
/** Of a text that the caller made up a charge keeps so much. */
const textMax = 100

/** What this plugin knows of an exchange that has been admitted. */
type Billing = {
  readonly charge: ImageCharge
  readonly n: number
  readonly keyed: boolean
  stage: BillingStage | undefined
}

const billingSlot = defineSlot<Billing>('image-billing')

/** Prices images by size tier (requirement 4.4), and lets none out before its charge is committed. */
export const imageTierBilling = definePlugin({
  name: 'image-tier-billing',
  options: optionsSchema,
  facet: facetSchema,
  needs: [callerSlot, askedSizeSlot],
  charges: true,
  inspect,
  create(_options, host) {
    const { clock, log, stores } = host
    const { ledger } = stores
    const allowance = host.keep('whole-events', () => new Allowance(wholeEventsBytesMax))

    return {
      onTarget(ex, target, facet) {
        const isTool = shapeOf(ex, facet) === 'output'
        if (!charges(ex, target, facet)) return
        if (!isTool) {
          readCount(target.body, target.family.nMax, countPaths(facet))
          checkQuery(ex.head.query)
        }
        readIdempotencyKey(ex.head.headers['idempotency-key'])
        if (!isTool && rendersUrl(target, facet) && target.stream) throw fail('response_format_not_streamed')
        if (!ledger.healthy()) throw fail('storage_unavailable', {}, { retryAfterMs: unavailableMs })
        ex.slots.put(imageChargeSlot, ex.id)
      },

      async onAdmit(ex, target, facet) {
        if (!ex.slots.get(imageChargeSlot)) return undefined
        const { body, family, model } = target
        const limit =
          shapeOf(ex, facet) === 'output' ? readToolLimit(body) : readCount(body, family.nMax, countPaths(facet))
        const n = limit ?? 1
        const quoted = quote({ facet, family, model, asked: askedSize(ex, body), n })
        const idempotency = await readIdempotency(ex.head.headers['idempotency-key'], ex.head.path, body)
        const facts = factsOf(ex, target, shapeOf(ex, facet) === 'output' ? withUse(quoted, ex.id) : quoted)
        const terms = {
          id: ex.id,
          rule: quoted.rule,
          n: limit ?? Number.POSITIVE_INFINITY,
          overReturn: facet.over_return,
          onCallerGone: facet.on_caller_gone,
        }
        // Known before the hold is: when its commit is in doubt, the end of the exchange still gives it back.
        ex.slots.put(billingSlot, {
          charge: new ImageCharge(ledger, terms, clock),
          n,
          keyed: idempotency !== null,
          stage: undefined,
        })
        const held = await ledger.hold({ facts, hold: quoted.atMost, idempotency }).catch((cause: unknown) => {
          throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
        })
        if (held.kind !== 'held') {
          ex.slots.put(billingSlot, undefined)
          return answerWithout(held, quoted.atMost, facts.currency)
        }
        ex.notes.charge = true
        return undefined
      },

      onForward(ex, out, facet) {
        const billing = ex.slots.get(billingSlot)
        if (!billing) return out
        const isTool = shapeOf(ex, facet) === 'output'
        const { body: shaped, dropped } = isTool ? shapeTools(out.body) : shapeFields(out.body, countPaths(facet))
        if (dropped.length > 0) tellDropped(ex, dropped)
        // What is rendered here was never the upstream's to know (decision 6).
        const body = facet.render && !isTool ? withField(shaped, 'response_format', undefined) : shaped
        return { ...out, body, detach: facet.on_caller_gone === 'bill' }
      },

      onReply(ex, reply, facet, target) {
        const billing = ex.slots.get(billingSlot)
        if (!billing) return reply
        if (reply.status < 200 || reply.status > 299) {
          // Whatever its status says, an image that is in it would leave unpaid.
          return { ...reply, stages: [...reply.stages, new RefusalStage(billing.charge, reply.status)] }
        }
        const encoding = reply.headers['content-encoding'] ?? 'identity'
        if (encoding !== 'identity') throw billing.charge.broken(fail('upstream_answer_encoded', { encoding }))
        const contentType = reply.headers['content-type'] ?? 'application/json'
        // A bare picture has no element to count, and would leave unpaid.
        const type = typeOf(contentType)
        if (!mayTell(type)) throw billing.charge.unrecognised(`content-type ${type}`.slice(0, 80))
        const isTool = shapeOf(ex, facet) === 'output'
        const asUrl = !isTool && rendersUrl(target, facet)
        const events = isEventStream(contentType, target)
        const endUnknown = reply.endUnknown === true
        const scanner = isTool
          ? openToolScanner(events, allowance, endUnknown)
          : openScanner(events, allowance, { asUrl, endUnknown, ...wordsOf(facet) })
        const answer = { status: reply.status, contentType, keep: billing.keyed }
        billing.stage = new BillingStage(scanner, billing.charge, answer)
        const headers = asUrl ? withoutLength(reply.headers) : reply.headers
        // Half of a JSON answer is told from a whole one by its brackets, whatever the connection says.
        return {
          ...reply,
          headers,
          stages: [...reply.stages, billing.stage],
          provesEnd: reply.provesEnd === true || !events,
        }
      },

      async onSettle(ex, outcome) {
        const billing = ex.slots.get(billingSlot)
        if (!billing) return
        try {
          await billing.charge.settle(outcome)
        } catch (cause) {
          // Nothing is lost: the hold stays until recovery or the lease ends it.
          log.error({ charge: ex.id, err: cause }, 'a charge could not be ended; recovery will')
        } finally {
          const { shape } = billing.charge
          if (shape !== undefined) ex.notes.unrecognised = { shape }
          billing.stage?.close()
        }
      },
    }
  },
})

/** What was not sent on after all. */
function tellDropped({ notes }: Exchange, dropped: readonly string[]): void {
  notes.forwarded = notes.forwarded.filter(name => !dropped.includes(name))
  notes.dropped = [...notes.dropped, ...dropped.filter(name => !notes.dropped.includes(name))]
}

/** Where this operation's answers have their images. */
function shapeOf(ex: Exchange, facet: BillingFacet): 'data' | 'output' | 'none' {
  return facet.answers?.[ex.route.operation] ?? 'data'
}

/** Images may come. What is made in the background comes in no answer that passes here, so nobody could charge it. */
function charges(ex: Exchange, { body }: Target, facet: BillingFacet): boolean {
  const shape = shapeOf(ex, facet)
  if (shape !== 'output') return shape === 'data'
  const background = readField(body, 'background') ?? false
  return asksForImageTool(body) && background === false
}

/** Says where the other part of the request's price is to be found. */
function withUse(
  { n, rule }: { readonly n: number; readonly rule: TierRule },
  id: string,
): { n: number; rule: TierRule } {
  const warning = `this is the price of the images; what else the request used is charged as ${useChargeId(id)}`
  return { n, rule: { ...rule, warnings: [...rule.warnings, warning] } }
}

function openToolScanner(events: boolean, allowance: Allowance, endUnknown: boolean): Scanner {
  return events ? new ToolEventScanner(allowance) : new ToolAnswerScanner({ endUnknown })
}

function openScanner(events: boolean, allowance: Allowance, options: ImageScannerOptions): Scanner {
  return events ? new EventScanner(allowance, options) : new ImageScanner(options)
}

function wordsOf({ texts, refusals }: BillingFacet): AnswerWords {
  return { ...(texts && { texts }), ...(refusals && { refusals }) }
}

/** The caller wants links, and this family's upstream only ever answers with bytes. @throws Failure for another format. */
function rendersUrl(target: Target, facet: BillingFacet): boolean {
  if (!facet.render) return false
  const format = readField(target.body, 'response_format')
  if (isAbsent(format, false) || format === 'b64_json') return false
  if (format === 'url') return true
  throw fail('invalid_response_format', { value: JSON.stringify(format).slice(0, 40) })
}

/** As the family reads it; a family that says nothing of sizes forwards what was sent, and it decides nothing. */
function askedSize(ex: Exchange, body: Body): AskedSize {
  const asked = ex.slots.get(askedSizeSlot)
  if (asked) return asked
  const text = textOf(body, 'size')
  return { text, size: { kind: text === null ? 'none' : 'unread' }, resolution: null, expected: null }
}

function factsOf(ex: Exchange, target: Target, quoted: { readonly n: number; readonly rule: TierRule }): ChargeFacts {
  const { key, group } = ex.slots.need(callerSlot)
  return {
    id: ex.id,
    keyId: key.id,
    user: key.user,
    group: group.name,
    operation: ex.route.operation,
    model: target.model.name,
    family: target.family.name,
    upstream: target.upstream.name,
    configRevision: ex.plan.revision,
    currency: ex.plan.currency,
    size: askedSize(ex, target.body).text,
    quality: textOf(target.body, 'quality'),
    n: quoted.n,
    rule: quoted.rule,
  }
}

/** A field as the caller sent it, null when absent; what is no text as JSON writes it. Cut: a charge is kept for good. */
function textOf(body: Body, name: string): string | null {
  const value = readField(body, name) ?? null
  if (isAbsent(value, false)) return null
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text
}

/** What a request is told that was not given a charge of its own. @throws Failure unless an answer was kept for it. */
function answerWithout(held: Exclude<HoldResult, { kind: 'held' }>, hold: number, currency: string): Answer {
  if (held.kind === 'overdrawn') {
    throw fail('insufficient_quota', tellOverdrawn(held, hold, currency))
  }
  const { chargeId: charge } = held
  if (held.kind === 'running') throw fail('idempotency_in_progress', { charge }, { retryAfterMs: runningMs })
  if (held.kind === 'mismatch') throw fail('idempotency_mismatch', { charge })
  if (!held.answer) throw fail('already_completed', { charge })
  return replayed(held.answer)
}

function replayed(answer: StoredAnswer): Answer {
  return { status: answer.status, headers: { ...answer.headers, 'idempotent-replayed': 'true' }, body: answer.body }
}

/** A type that is neither goes by what was asked for: something that is no such answer passes either scanner. */
function isEventStream(contentType: string, target: Target): boolean {
  const type = typeOf(contentType)
  if (type === 'text/event-stream') return true
  return target.stream && type !== 'application/json' && !type.endsWith('+json')
}

function typeOf(contentType: string): string {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** Types of answers that are read for images; text of any kind may be JSON, and is looked at as such. */
function mayTell(type: string): boolean {
  return type === '' || type === 'application/json' || type.endsWith('+json') || type.startsWith('text/')
}

/** The headers of an answer that is not the bytes the upstream measured. */
function withoutLength(headers: { readonly [name: string]: string }): { readonly [name: string]: string } {
  const gone = new Set([
    'content-length',
    'etag',
    'digest',
    'content-digest',
    'repr-digest',
    'content-md5',
    'accept-ranges',
  ])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !gone.has(name)))
}
