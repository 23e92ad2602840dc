import {
  type ApiFormat,
  type Charge,
  type DeferredTraits,
  type Job,
  type Model,
  readCost,
  timeOfId,
  type UsageFacts,
  type UsageRule,
} from '../../../src/plugin-api/index.ts'
import { checkUsage } from '../check-usage.ts'
import { needsReview } from '../needs-review.ts'
import { rateRequest } from '../rate-request.ts'
import { JsonReading } from '../reading.ts'
import type { UsageFacet } from '../schema.ts'
import type { RatedWork } from './end-charge.ts'
import type { EndedWork } from './follow.ts'

/** Inputs for rating deferred work, in addition to its result. */
export type WorkTerms = {
  readonly charge: Charge
  readonly job: Job
  readonly traits: DeferredTraits
  readonly model: Model
  readonly facet: UsageFacet
  readonly dialect: ApiFormat
  /** Whether the answers of a batch are vectors, which are no output. */
  readonly answersVectors?: true | undefined
}

const none = { kind: 'none' } as const

/** The price of a background response. Without a complete answer, only the reported usage is charged. */
export function rateResponse(terms: WorkTerms, { state, bytes }: EndedWork): RatedWork {
  const { charge, job, traits, model, facet, dialect } = terms
  const reading = new JsonReading({
    dialect,
    operation: job.operation,
    bytesPerToken: facet.estimate.bytes_per_token,
    removesUsage: false,
  })
  reading.write(bytes)
  reading.end()
  const [{ sent = '0', ...facts } = {}] = job.told
  const reported = reading.usage()
  const sizes = { body: none, answerBytes: bytes.length, facet, sentBytes: Number(sent) }
  const { usage, implausible } = checkUsage(reported, sizes)
  const rated = rateRequest({
    rule: charge.rule as UsageRule,
    facet,
    outcome: { kind: 'answered', status: 200, reach: 'complete' },
    body: none,
    usage,
    implausible,
    uncounted: 0,
    byLength: reading.byLength(),
    failed: !traits.whole.includes(state),
    requested: factsOf(facts),
    at: timeOfId('req_', charge.id),
  })
  const vendorCost = reported?.cost === undefined ? undefined : readCost(reported.cost)
  const reason = rated.reason === 'upstream_failed' ? `${rated.reason}: ${state}` : rated.reason
  return { ...rated, reason, vendorCost, waits: needsReview(facet, model, { implausible, ...rated }) }
}

/** Facts of the request that prices depend on, from the job. */
export function factsOf({ service_tier, speed, region }: { readonly [name: string]: string }): UsageFacts {
  return {
    ...(service_tier !== undefined && { service_tier }),
    ...(speed !== undefined && { speed }),
    ...(region !== undefined && { region }),
  }
}
