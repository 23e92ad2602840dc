import {
  askedSizeSlot,
  type UpstreamClient,
  callerSlot,
  chargeSlot,
  createResponseMetadata,
  definePlugin,
  type Body,
  type CallUpstream,
  detachedJobSlot,
  type RequestContext,
  type UpstreamResponse,
  type Host,
  type JobCourse,
  jobSlot,
  type OperationTraits,
  type Outbound,
  type Outcome,
  parseBytes,
  readField,
  type PluginResponse,
  type Target,
  responseMetadataSlot,
  wasStopped,
} from '../../src/plugin-api/index.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { createCall, type Terms } from './call-upstream.ts'
import { readingOf, sectionOf } from './describe.ts'
import { fail } from './errors.ts'
import type { LinkRule } from './follow-link.ts'
import { inspect } from './inspect.ts'
import { type Ask, createJobCall, goesOn } from './call-with-jobs.ts'
import type { JobNote } from './job.ts'
import { facetSchema, optionsSchema, type Section, type TranslateFacet } from './schema.ts'
import { shapeRequest } from './shape-request.ts'

/** The maximum bytes of answers that cannot be forwarded as they arrive, for all requests together. */
const heldBytesMax = 512 * 1024 * 1024

/**
 * Translates to a vendor's API by its description in the file: writes the vendor's body from the client's fields, and
 * reads pictures, refusals and facts from its answers, into the one format that every other plugin reads
 * (`docs/vendors.md`). Drops everything that the description does not contain.
 */
export const translate = definePlugin({
  name: 'translate',
  options: optionsSchema,
  facet: facetSchema,
  needs: [callerSlot],
  gives: [responseMetadataSlot],
  settlesAfter: [chargeSlot],
  last: true,
  inspect,

  quote({ body, out, model, operation, slots, traits }, facet) {
    if (!translates(facet, operation, traits)) return undefined
    const section = sectionOf(facet, operation)
    if (section.request === undefined || out.kind !== 'json') return undefined
    const sendAs = model.upstreams[0]?.sendAs ?? model.name
    const n = section.fan_out === undefined ? countOf(body) : 1
    const requestedSize = slots.get(askedSizeSlot)
    const { value, dropped } = shapeRequest(section, { body: out, model: sendAs, n, requestedSize }, noChance)
    const changes = new Map(out.json.names().map(name => [name, undefined as unknown]))
    for (const [name, own] of Object.entries(value as object)) changes.set(name, own)
    return { out: { kind: 'json', json: out.json.with(changes as never) }, dropped }
  },

  create(_options, host) {
    const budget = host.keep('held', () => new ByteBudget(heldBytesMax))
    return {
      onTarget(context, _target, facet) {
        const { operation, traits } = context.route
        if (translates(facet, operation, traits) && readingOf(facet, operation).job && isAccepted(context))
          context.slots.put(detachedJobSlot, true)
      },
      onAsk(context, out, facet, target) {
        if (!translates(facet, context.route.operation, context.route.traits)) return undefined
        return createAsking({ context, out, facet, target, host, budget })
      },
      onSettle: (context, outcome) => endJob(host, context, outcome),
    }
  },
})

/** Other requests pass unchanged, in the vendor's own format. */
function translates(facet: TranslateFacet, operation: string, traits: OperationTraits | undefined): boolean {
  return traits?.images !== undefined || facet.per_operation?.[operation] !== undefined
}

/** A body that is only shown, and never sent, needs no unpredictable boundary. */
const noChance = { bytes: (size: number): Buffer => Buffer.alloc(size) }

type Asking = {
  readonly context: RequestContext
  readonly out: Outbound
  readonly facet: TranslateFacet
  readonly target: Target
  readonly host: Host
  readonly budget: ByteBudget
}

function createAsking(asking: Asking): CallUpstream {
  const { context, facet, target } = asking
  const section = sectionOf(facet, context.route.operation)
  const reading = readingOf(facet, context.route.operation)
  // An earlier attempt, with another key or upstream, has its own state, which is over.
  const earlier = context.slots.get(jobSlot)
  const resumed = earlier?.resumed && earlier
  const asks = resumed ? [] : createAsks(section, asking)
  const atOnce = section.fan_out ?? 1
  const terms: Omit<Terms, 'asks' | 'atOnce'> = { reading, ...accounting(asking), ...writing(asking, section) }
  const { job } = reading
  if (!job) return createCall({ ...terms, asks, atOnce })
  const course: JobCourse = resumed ?? {
    resumed: undefined,
    isOpen: false,
    isInDoubt: false,
    hasBegun: false,
    handedOver: false,
  }
  context.slots.put(jobSlot, course)
  const { clock, random } = asking.host
  const deadlineAt = course.resumed?.deadlineAt ?? clock.now() + job.withinMs
  const model = target.sendAs
  const accepted = isAccepted(context) ? accept(context, asking) : undefined
  return createJobCall({
    course,
    asks,
    atOnce,
    polling: {
      reading,
      job,
      model,
      metadata: terms.metadata,
      deadlineAt,
      now: () => clock.now(),
      random,
      claim: terms.claim,
    },
    accepted,
    open: (jobs, isDetached) => openJob(asking, jobs, { deadlineAt, isDetached }),
    onNotWritten: error => asking.host.log.error({ request: context.id, err: error }, 'a job could not be stored'),
    finish: waiting => createCall({ ...terms, asks: waiting, atOnce: Math.max(1, waiting.length) }),
  })
}

/** The body of each request. A file of a form can be sent several times. */
function createAsks(section: Section, asking: Asking): readonly Ask[] {
  const { target, out } = asking
  const wanted = countOf(target.body)
  const isFanned = section.fan_out !== undefined
  const max = target.family.nMax
  // Priced pictures are counted before the reservation. Free ones are not counted.
  if (isFanned && wanted > max) throw fail('too_many_pictures', { n: wanted, max })
  const body = shapeBody(section, asking, isFanned ? 1 : wanted)
  const ask = (asker: UpstreamClient): Promise<UpstreamResponse> => asker.ask({ body, headers: out.headers })
  return Array.from({ length: isFanned ? wanted : 1 }, () => ask)
}

function shapeBody(section: Section, { context, out, target, host }: Asking, n: number): Body {
  const requestedSize = context.slots.get(askedSizeSlot)
  const { body, dropped } = shapeRequest(
    section,
    { body: out.body, model: target.sendAs, n, requestedSize },
    host.random,
  )
  if (dropped.length > 0) {
    context.notes.forwarded = context.notes.forwarded.filter(name => !dropped.includes(name))
    context.notes.dropped = [...new Set([...context.notes.dropped, ...dropped])]
  }
  return body
}

/** Records facts about the exchange as its answer passes. */
function accounting({
  context,
  budget,
}: Asking): Pick<Terms, 'metadata' | 'hasBegun' | 'claim' | 'onUsage' | 'onUnrecognised' | 'onEnd'> {
  let held = 0
  // Reports of an earlier upstream do not apply to this one.
  const metadata = createResponseMetadata()
  context.slots.put(responseMetadataSlot, metadata)
  return {
    metadata,
    hasBegun: () => context.slots.get(jobSlot)?.hasBegun === true,
    claim: {
      take(bytes) {
        if (!budget.take(bytes)) return false
        held += bytes
        return true
      },
      give(bytes) {
        // An exchange that has ended has already returned all of its memory.
        const given = Math.min(bytes, held)
        budget.give(given)
        held -= given
      },
    },
    onUsage(usage) {
      context.notes.inputTokens = usage['input_tokens'] ?? context.notes.inputTokens
      context.notes.outputTokens = usage['output_tokens'] ?? context.notes.outputTokens
    },
    onUnrecognised(shape) {
      context.notes.unrecognised = { shape }
    },
    onEnd(error) {
      budget.give(held)
      held = 0
      const course = context.slots.get(jobSlot)
      if (course?.resumed && goesOn(error)) course.handedOver = true
    },
  }
}

function writing({ context, target, host }: Asking, section: Section): Pick<Terms, 'event' | 'created' | 'links'> {
  const kind = context.route.traits?.images === 'edited' ? 'image_edit' : 'image_generation'
  return {
    event: target.stream ? `${kind}.completed` : undefined,
    created: Math.floor(host.clock.now() / 1000),
    links: linkRule(section, target.body),
  }
}

/** Whether links are followed: by the section, or by the caller's request. */
function linkRule({ links }: Section, body: Body): LinkRule | undefined {
  if (!links || links.do === 'pass') return undefined
  const bytesMax = parseBytes(links.max) ?? 0
  const rule = { hosts: links.hosts, bytesMax }
  if (links.do !== 'as-asked') return { ...rule, do: links.do }
  return readField(body, 'response_format') === 'b64_json' ? { ...rule, do: 'inline' } : undefined
}

/** RFC 7240: a client that prefers not to wait gets an answer as soon as the work is accepted. */
function isAccepted({ route, head }: RequestContext): boolean {
  const prefer = head.headers['prefer']
  return (
    route.jobs === 'accept' || (typeof prefer === 'string' && /(?:^|[,;\s])respond-async(?:$|[,;\s])/i.test(prefer))
  )
}

function accept(context: RequestContext, { target, host }: Asking): PluginResponse {
  const created = Math.floor(host.clock.now() / 1000)
  const job = { id: context.id, object: 'job', status: 'running', created, model: target.model.name }
  return {
    status: 202,
    headers: { 'content-type': 'application/json' },
    body: (async function* () {
      // Only this answer has the header.
      context.answerHeaders['location'] = `/v1/jobs/${context.id}`
      yield Buffer.from(JSON.stringify(job))
    })(),
  }
}

async function openJob(
  { context, target, host }: Asking,
  jobs: readonly JobNote[],
  { deadlineAt, isDetached }: { readonly deadlineAt: number; readonly isDetached: boolean },
): Promise<void> {
  const job = {
    id: context.id,
    keyId: context.slots.need(callerSlot).key.id,
    operation: context.route.operation,
    model: target.model.name,
    upstream: target.upstream.name,
    vendorKey: target.upstream.key ?? null,
    n: countOf(target.body),
    told: jobs,
    deadlineAt,
  }
  await host.stores.jobs.open(job, isDetached ? 'detached' : 'waited')
}

/** A job with a waiting client ends with its exchange, unless the gateway has ended that. */
async function endJob({ stores }: Host, context: RequestContext, outcome: Outcome): Promise<void> {
  const course = context.slots.get(jobSlot)
  if (!course || course.resumed || course.handedOver || !(course.isOpen || course.isInDoubt)) return
  if (course.isOpen && wasStopped(outcome)) return
  const isDone = outcome.kind !== 'refused' && (outcome.status ?? 500) < 400
  await stores.jobs.end(context.id, isDone ? 'done' : 'failed', null)
}

/** The count, which billing has already checked. */
function countOf(body: Body): number {
  const n = Number(readField(body, 'n') ?? 1)
  return Number.isInteger(n) && n > 0 ? n : 1
}
