import {
  type CallUpstream,
  type Charge,
  type Clock,
  type DeferredTraits,
  defineSlot,
  type Job,
  jobSlot,
  type Log,
  readField,
  type Reply,
  type RequestContext,
  type Stage,
  type Stores,
  type Target,
} from '../../../src/plugin-api/index.ts'
import { fail } from '../errors.ts'
import type { UsageFacet } from '../schema.ts'
import { endCharge } from './end-charge.ts'
import { answered, follow } from './follow.ts'
import { rateBatch } from './batch/rate-batch.ts'
import { recordResults } from './batch/record-results.ts'
import { rateResponse } from './rate-response.ts'
import { TakenStage } from './taken-stage.ts'
import { takeWork } from './take-work.ts'

export type WorkTools = {
  readonly stores: Pick<Stores, 'jobs' | 'ledger' | 'objects'>
  readonly clock: Clock
  readonly log: Log
}

/** Work that a job of this process polls. */
type Followed = { readonly job: Job; readonly traits: DeferredTraits; readonly charge: Charge | undefined }

/** The state of deferred work's charge in the request that starts it. */
export type DeferredWork = {
  readonly traits: DeferredTraits
  /** `taken`: a job ends the charge. `unrecorded`: the work continues, and no job is stored. */
  course: 'requested' | 'taken' | 'unrecorded'
}

const followedSlot = defineSlot<Followed>('followed-work')

/**
 * Checks a request whose work continues after its response. Returns undefined if the response ends it.
 * @throws Failure background_images, background_unroutable
 */
export function checkDeferred(context: RequestContext, target: Target, hasImages: boolean): DeferredTraits | undefined {
  const traits = context.route.deferred
  if (!traits || (traits.when !== undefined && readField(target.body, traits.when) !== true)) return undefined
  const { when = 'background', poll } = traits
  if (hasImages) throw fail('background_images', { model: target.model.name, field: when }, { param: when })
  if (!context.plan.routes.some(({ operation, serve }) => operation === poll && serve === undefined))
    throw fail('background_unroutable', { operation: poll })
  return traits
}

/** Reads the response to a request whose work continues, and stores its job before the client has the id. */
export function createTakenStage(
  { stores: { jobs }, clock }: WorkTools,
  request: {
    readonly context: RequestContext
    readonly target: Target
    readonly work: DeferredWork
    /** Further data for the end of the work. */
    readonly note?: { readonly [name: string]: string }
  },
  { headers }: Pick<Reply, 'headers'>,
): Stage {
  const { context, target, work, note } = request
  const { traits } = work
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true
  return new TakenStage(traits, isStream, async id => {
    work.course = 'unrecorded'
    await takeWork({ jobs, clock }, { context, target, traits }, { ...note, id })
    work.course = 'taken'
  })
}

/** Finds the charge of the work of a job that this process resumes. */
export async function resumeWork({ stores: { ledger } }: WorkTools, context: RequestContext): Promise<void> {
  const traits = context.route.deferred
  const job = context.slots.get(jobSlot)?.resumed
  if (!traits || !job || job.told[0]?.['id'] === undefined) return
  const charge = await ledger.find(job.id)
  const isOpen = charge?.state === 'reserved' && charge.rule.kind === 'usage'
  context.slots.put(followedSlot, { job, traits, charge: isOpen ? charge : undefined })
}

/** Polls the work of a resumed job; undefined for other requests. */
export function followWork(
  tools: WorkTools,
  context: RequestContext,
  { target, facet }: { readonly target: Target; readonly facet: UsageFacet },
): CallUpstream | undefined {
  const followed = context.slots.get(followedSlot)
  if (!followed) return undefined
  const { job, traits, charge } = followed
  const id = job.told[0]?.['id'] as string
  // An administrator or an earlier attempt has ended the charge.
  if (!charge) return () => answered(id)
  const { log, stores, clock } = tools
  const operation = job.told[0]?.['operation'] ?? job.operation
  const answersVectors = context.plan.routes.find(one => one.operation === operation)?.traits?.answersVectors
  const terms = { charge, job, traits, model: target.model, facet, dialect: context.dialect, answersVectors }
  return follow({
    traits,
    id,
    deadlineAt: job.deadlineAt,
    now: () => clock.now(),
    async end(client, ended) {
      const books = { ledger: stores.ledger, log }
      if (!traits.batch) return endCharge(books, charge, rateResponse(terms, ended))
      const rated = await rateBatch(client, terms, ended)
      await recordResults(stores.objects, { context, id, ended, files: rated.files, now: clock.now() })
      await endCharge(books, charge, rated)
    },
  })
}
