import {
  type Candidate,
  Failure,
  type Job,
  jobSlot,
  type Passed,
  type CompiledConfig,
  type Reply,
  type Route,
  Slots,
  type Stage,
  type StoredAnswer,
} from '../domain/index.ts'
import type { Outcome, ApiFormat, RequestContext, Head, Target } from '../plugin-api/index.ts'
import { type Clock } from '../util/index.ts'
import type { AnswerHead, Call } from './call-request.ts'
import { type ByteBudget, ByteClaim } from '../wire/index.ts'
import { redactAnswer } from './answer-source.ts'
import { noRoom, paidBytes } from './body-reader.ts'
import { fail } from './errors.ts'
import { replyHeaders } from './headers.ts'
import type { HookFault } from './pipeline.ts'
import type { RunningConfigs } from './running-configs.ts'
import type { RequestSender } from './send-request.ts'
import type { UpstreamSession } from './upstream-session.ts'
import { UpstreamResponseBody } from './upstream-response-body.ts'

/** How often, and how many times, a job's answer waits for memory. */
const roomEveryMs = 100
const roomTries = 600

type JobResumerParts = {
  readonly clock: Clock
  readonly configs: RunningConfigs
  readonly memory: ByteBudget
  readonly sender: RequestSender
  dialect(name: string, head: Head): ApiFormat | undefined
  /** Why requests are no longer sent, once that is so. */
  stopped(): Failure | undefined
  readonly onSettleFault: (fault: HookFault, context: RequestContext) => void
}

/** Polls jobs whose clients have left. */
export class JobResumer {
  readonly #parts: JobResumerParts
  readonly #open = new Set<UpstreamSession>()

  constructor(parts: JobResumerParts) {
    this.#parts = parts
  }

  stop(reason: Failure): void {
    for (const call of this.#open) call.stop(reason)
  }

  /**
   * Resumes a job whose client has left or never waited: polls its upstream, runs the plugins over the answer like any
   * other, and ends the charge. Writes no row of the log.
   * @throws Failure without an answer; the job may continue
   */
  async resume(job: Job): Promise<StoredAnswer> {
    const { configs, memory: budget, sender } = this.#parts
    const running = configs.active
    const { context, target } = planJob(running.plan, job, (name, head) => this.#parts.dialect(name, head))
    configs.use(running)
    let outcome: Outcome = { kind: 'refused', status: 500, failure: fail('internal_error'), reach: 'unknown' }
    let call: UpstreamSession | undefined
    const memory = new ByteClaim(budget, running.plan.server.memoryBytesMax)
    try {
      await running.pipeline.onResume(context, target)
      const callUpstream = running.pipeline.onAsk(context, { body: target.body, headers: {}, detach: true }, target)
      if (!callUpstream) throw fail('job_unplanned', { model: job.model, upstream: job.upstream })
      call = sender.session(context, target, callUpstream, {}, request => sender.transport.send(request))
      this.#open.add(call)
      const stopped = this.#parts.stopped()
      if (stopped) throw stopped
      const head = await call.head
      const passed = replyHeaders(head.headers, context.dialect, target.family.replyHeaders)
      const { headers, stages } = redactAnswer(head, passed, call)
      const shaping = running.pipeline.onReply(context, { status: head.status, headers, stages }, target)
      const hold = (bytes: number): Promise<void> => this.#waitForRoom(memory, bytes)
      const answer = await collect(call, head, await shaping, hold)
      outcome = { kind: 'answered', status: head.status, reach: head.status < 400 ? 'complete' : 'refused' }
      return answer
    } catch (error) {
      const failure = error instanceof Failure ? error : fail('internal_error', {}, { cause: error })
      call?.abort(failure)
      outcome = { kind: 'refused', status: failure.status, failure, reach: 'unknown' }
      throw failure
    } finally {
      memory.free()
      if (call) this.#open.delete(call)
      await running.pipeline.onSettle(context, outcome, target, this.#parts.onSettleFault)
      configs.release(running)
    }
  }

  /**
   * No client waits for a job's answer, so it waits for memory: it has been paid. @throws Failure over_capacity after a
   * minute
   */
  async #waitForRoom(memory: ByteClaim, bytes: number): Promise<void> {
    const wanted = paidBytes(bytes, this.#parts.configs.active.plan.server.memoryBytesMax)
    for (let tries = 0; !memory.hold(wanted); tries++) {
      if (tries === roomTries) throw noRoom()
      await this.#parts.clock.sleep(roomEveryMs)
    }
  }
}

/** The target of a job in the current configuration. @throws Failure job_unplanned if it has none any more */
function planJob(
  plan: CompiledConfig,
  job: Job,
  dialectOf: (name: string, head: Head) => ApiFormat | undefined,
): { readonly context: RequestContext; readonly target: Target } {
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
    context: {
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
    target: targetOf(route, model, candidate),
  }
}

/** The upstream with the key of the job: no other key knows the job. Undefined if that is gone. */
function withKeyOf({ vendorKey = null }: Job, candidate: Candidate | undefined): Candidate | undefined {
  const { keys } = candidate?.upstream ?? {}
  // The only key of an upstream had no name that a job could have stored.
  if (!candidate || (vendorKey === null && (!keys || keys[0]?.isOnly === true))) return candidate
  const key = keys?.find(one => one.name === vendorKey)
  return key && { ...candidate, upstream: key.upstream }
}

/** There is no client. */
const noHead: Head = { method: 'POST', path: '/', query: '', headers: {}, remote: '' }

function targetOf({ operation }: Route, model: Target['model'], { upstream, sendAs }: Candidate): Target {
  const { family } = model
  const body = { kind: 'none' } as const
  const chargesItems = family.chargesItems?.(operation, body) === true
  return { model, family, upstream, sendAs, body, stream: false, chargesItems }
}

/**
 * Sends an answer through its stages into the store.
 * @param hold resolves when there is memory for so many bytes
 * @throws Failure if it breaks off
 */
async function collect(
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
      next.push(...toList(await passed))
    }
    chunks = next
  }
  return chunks
}

function toList(passed: Passed): readonly Buffer[] {
  return Buffer.isBuffer(passed) ? [passed] : passed
}
