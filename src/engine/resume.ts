import {
  type Candidate,
  type ApiFormat,
  type RequestContext,
  type Head,
  isPromise,
  type Job,
  jobSlot,
  type Passed,
  type CompiledConfig,
  type Reply,
  Slots,
  type Stage,
  type StoredAnswer,
  type Target,
} from '../kit/index.ts'
import type { AnswerHead, Call } from './call-request.ts'
import { fail } from './errors.ts'
import { UpstreamResponseBody } from './upstream-response-body.ts'

/** The target of a job by the present plan. @throws Failure job_unplanned where it has none any more */
export function planJob(
  plan: CompiledConfig,
  job: Job,
  dialectOf: (name: string, head: Head) => ApiFormat | undefined,
): { readonly ex: RequestContext; readonly target: Target } {
  const route = plan.routes.find(one => one.operation === job.operation && one.serve === undefined)
  const model = plan.models.get(job.model)
  const candidate = withKeyOf(
    job,
    model?.upstreams.find(one => one.upstream.name === job.upstream),
  )
  const dialect = route && dialectOf(route.dialect, noHead)
  if (!route || !model || !candidate || !dialect)
    throw fail('job_unplanned', { model: job.model, upstream: job.upstream })
  const slots = new Slots()
  slots.put(jobSlot, { resumed: job, isOpen: true, isInDoubt: false, hasBegun: false, handedOver: false })
  return {
    ex: {
      id: job.id,
      startedAt: job.createdAt,
      head: noHead,
      route,
      params: {},
      dialect,
      plan,
      slots,
      notes: { forwarded: [], dropped: [], charge: true, inputTokens: null, outputTokens: null },
      payer: job.keyId,
      limits: [],
      answerHeaders: {},
    },
    target: targetOf(model, candidate),
  }
}

/** The upstream with the key of the job: no other key knows the job. Undefined where that is gone. */
function withKeyOf({ vendorKey = null }: Job, candidate: Candidate | undefined): Candidate | undefined {
  const { keys } = candidate?.upstream ?? {}
  // An only key has no name that a job could have kept before it was one.
  if (!candidate || (vendorKey === null && (!keys || keys[0]?.isOnly === true))) return candidate
  const key = keys?.find(one => one.name === vendorKey)
  return key && { ...candidate, upstream: key.upstream }
}

/** There is no client. */
const noHead: Head = { method: 'POST', path: '/', query: '', headers: {}, remote: '' }

function targetOf(model: Target['model'], { upstream, sendAs }: Candidate): Target {
  return { model, family: model.family, upstream, sendAs, body: { kind: 'none' }, stream: false }
}

/**
 * Carries an answer through its stages to where it is kept.
 * @param hold resolves when there is memory for so many bytes
 * @throws Failure where it breaks off
 */
export async function collect(
  source: Pick<Call, 'start' | 'pause' | 'resume' | 'abort'>,
  head: AnswerHead,
  reply: Reply,
  hold: (bytes: number) => Promise<void>,
): Promise<StoredAnswer> {
  const kept: Buffer[] = []
  let bytes = 0
  const keep = async (stages: readonly Stage[], chunk: Buffer): Promise<void> => {
    for (const passed of await through(stages, chunk)) {
      bytes += passed.length
      await hold(bytes)
      kept.push(passed)
    }
  }
  for await (const chunk of new UpstreamResponseBody(source, undefined, () => undefined))
    await keep(reply.stages, chunk)
  for (const [i, stage] of reply.stages.entries())
    for (const chunk of toList(await stage.end())) await keep(reply.stages.slice(i + 1), chunk)
  const { 'content-type': contentType = 'application/json' } = reply.headers
  return { status: head.status, headers: { 'content-type': contentType }, body: Buffer.concat(kept) }
}

async function through(stages: readonly Stage[], chunk: Buffer): Promise<readonly Buffer[]> {
  let chunks: readonly Buffer[] = [chunk]
  for (const stage of stages) {
    const next: Buffer[] = []
    for (const one of chunks) {
      const passed = stage.write(one)
      next.push(...toList(isPromise(passed) ? await passed : passed))
    }
    chunks = next
  }
  return chunks
}

function toList(passed: Passed): readonly Buffer[] {
  return Buffer.isBuffer(passed) ? [passed] : passed
}
