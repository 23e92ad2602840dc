import {
  type Body,
  callerSlot,
  type Clock,
  type DeferredTraits,
  type JobStore,
  type RequestContext,
  type Target,
} from '../../../src/plugin-api/index.ts'
import { requestFacts } from '../request-facts.ts'
import { fail } from '../errors.ts'

const hourMs = 3_600_000

/** Stores the job that polls accepted work and charges it. @throws Failure background_not_recorded */
export async function takeWork(
  { jobs, clock }: { readonly jobs: JobStore; readonly clock: Pick<Clock, 'now'> },
  {
    context,
    target,
    traits,
  }: { readonly context: RequestContext; readonly target: Target; readonly traits: DeferredTraits },
  note: { readonly id: string; readonly [name: string]: string },
): Promise<void> {
  const { upstream, model, body } = target
  const { region } = upstream
  const job = {
    id: context.id,
    keyId: context.slots.need(callerSlot).key.id,
    operation: context.route.operation,
    model: model.name,
    upstream: upstream.name,
    vendorKey: upstream.key ?? null,
    n: 1,
    told: [{ sent: String(bytesOf(body)), ...(region !== undefined && { region }), ...requestFacts(body), ...note }],
    deadlineAt: clock.now() + traits.hours * hourMs,
  }
  await jobs.open(job, 'detached').catch((cause: unknown) => {
    throw fail('background_not_recorded', {}, { cause })
  })
}

function bytesOf(body: Body): number {
  return body.kind === 'json' ? body.json.bytes.length : 0
}
