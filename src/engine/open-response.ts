import { type Reply, type Stage, type Upstream, withoutLength } from '../domain/index.ts'
import type { RequestContext, Target } from '../plugin-api/index.ts'
import { type Awaitable, andThen } from '../util/index.ts'
import type { ActiveRequest } from './active-request.ts'
import { ResponseFormCheck } from './response-form.ts'
import { openSource, redactAnswer, secretsOfCall } from './answer-source.ts'
import type { AnswerHead, Call } from './call-request.ts'
import type { Deadlines } from './deadlines.ts'
import type { Source } from './decode.ts'
import { ErrorSnippet, requestWords } from './error-snippet.ts'
import { replyHeaders } from './headers.ts'
import { clientFormat, unbuffered } from './respond.ts'
import { ResponsePump } from './response-pump.ts'
import type { ObjectRecords } from './stored-objects/object-records.ts'

type Opened = {
  readonly headers: { readonly [name: string]: string }
  /** The stages before those of plugins. */
  readonly stages: readonly Stage[]
  readonly call: Call
  readonly source: Source
}

/** Turns the head of an upstream's answer into the client's response. */
export class ResponseOpener {
  readonly #deadlines: Deadlines
  readonly #writeIdleMs: number
  readonly #objects: ObjectRecords

  constructor(deadlines: Deadlines, writeIdleMs: number, objects: ObjectRecords) {
    this.#objects = objects
    this.#deadlines = deadlines
    this.#writeIdleMs = writeIdleMs
  }

  /** Runs the plugins over the head of an answer and returns the pump of its body. */
  open(request: ActiveRequest, context: RequestContext, target: Target, head: AnswerHead): Awaitable<ResponsePump> {
    const { upstream } = target
    const call = request.call as Call
    const source = openSource(call, head, upstream)
    // A coding marks its own end: half of a compressed body differs from all of it.
    request.endUnknown = head.endsWithConnection && source === call
    const passed = replyHeaders(head.headers, context.dialect, target.family.replyHeaders)
    const { headers: own, stages } = redactAnswer(head, passed, call)
    const linked = context.route.object?.uploads ? this.#objects.linked(context, target, request.req, own) : own
    return andThen(linked, headers => this.#shape(request, context, target, head, { headers, stages, call, source }))
  }

  #shape(
    request: ActiveRequest,
    context: RequestContext,
    target: Target,
    head: AnswerHead,
    { headers, stages, call, source }: Opened,
  ): Awaitable<ResponsePump> {
    const { upstream } = target
    const creates = context.route.object?.creates
    if (head.status >= 400) request.errorSnippet = new ErrorSnippet(secretsOfCall(call), requestWords(request.body))
    const judge = new ResponseFormCheck(context, request.wanted, { ...head, headers }, call, source === call)
    const { stage, turnInto } = judge
    const keeper = creates && this.#objects.stageOf(context, target, { status: head.status, headers: judge.headers })
    const shaping = request.running.pipeline.onReply(
      context,
      {
        status: head.status,
        // The object in a response gets other links, which changes the length.
        headers: source === call && !creates?.links ? judge.headers : withoutLength(judge.headers),
        stages: [
          ...stages,
          ...(stage ? [stage] : []),
          ...(keeper ? [keeper] : []),
          ...(request.errorSnippet ? [request.errorSnippet] : []),
        ],
        endUnknown: request.endUnknown,
        ...(turnInto && { turnInto }),
      },
      target,
    )
    return andThen(shaping, reply => {
      judge.demand(reply)
      return this.#pump(request, context, source, reply, upstream, judge.isTurned)
    })
  }

  #pump(
    request: ActiveRequest,
    context: RequestContext,
    source: Source,
    reply: Reply,
    upstream: Upstream,
    isTurned: boolean,
  ): ResponsePump {
    const isStream = reply.headers['content-type']?.startsWith('text/event-stream') === true
    // Heartbeats and an error event would exceed or miss the length of a stream.
    const shaped = isStream ? { ...reply, headers: { ...withoutLength(reply.headers), ...unbuffered } } : reply
    request.reply = shaped
    // The head of an event stream is sent at once, because late events are worth little. Others are sent with their
    // first bytes, so that an earlier failure is an error that says whether to retry, and not a broken
    // connection that SDKs retry. So are events that a plugin makes of an answer in one piece.
    if (isStream && !isTurned) {
      request.begin()
      request.res.flushHeaders()
    }
    const pump = new ResponsePump(request, source, shaped, isStream, {
      deadlines: this.#deadlines,
      // A client may be silent for no longer than an upstream may.
      writeIdleMs: Math.min(this.#writeIdleMs, upstream.timeouts.idleMs),
      lastEvents: clientFormat(context).lastEvents,
    })
    request.pumps(pump)
    const { heartbeatMs } = context.plan.server
    const { heartbeat } = clientFormat(context)
    if (isStream && heartbeatMs !== undefined && heartbeat !== undefined) pump.keepAlive(heartbeat, heartbeatMs)
    return pump
  }
}
