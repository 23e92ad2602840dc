import { jobSlot } from '../domain/index.ts'
import type { CallUpstream, Outbound, RequestContext, Target, UpstreamRequest } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'
import type { ActiveRequest } from './active-request.ts'
import { openSource } from './answer-source.ts'
import type { Call, CallRequest } from './call-request.ts'
import { addressOf, addressOfOther, callOf, outgoingHeaders, upstreamPath } from './outbound.ts'
import { openingHeaders } from './sessions/handshake.ts'
import type { Transport } from './transport.ts'
import { toRequest } from './upstream-request.ts'
import { type Sent, UpstreamSession } from './upstream-session.ts'

export type SenderParts = {
  readonly clock: Clock
  readonly transport: Transport
  /** Turns an upstream's configured url into one that can be dialled. */
  resolveUrl(url: string): string
  /** Observes the requests to upstreams, for tracing. */
  readonly trace?:
    | {
        /** A request is about to be sent. @returns headers to add */
        began(context: RequestContext, upstream: string): { readonly [name: string]: string }
        /** Its head arrived (status), or never did (null). */
        answered(context: RequestContext, status: number | null): void
      }
    | undefined
}

/** Sends requests to upstreams: one, or as many as a plugin makes of it. */
export class RequestSender {
  readonly transport: Transport
  readonly #parts: SenderParts

  constructor(parts: SenderParts) {
    this.#parts = parts
    this.transport = parts.transport
  }

  /** Sends a request, or lets a plugin call the upstream (`onAsk`). */
  send(request: ActiveRequest, context: RequestContext, target: Target, out: Outbound): Call {
    const { upstream } = target
    const traced = this.#parts.trace?.began(context, upstream.name)
    const callUpstream = request.running.pipeline.onAsk(context, out, target)
    if (callUpstream)
      return this.session(context, target, callUpstream, traced ?? {}, sent => this.transport.send(sent))
    const call = callOf(context, target)
    const opening = request.opening && openingHeaders(request.opening)
    const more = call ?? traced ?? opening
    const outgoing = more ? { ...out, headers: { ...call?.headers, ...out.headers, ...traced, ...opening } } : out
    const sent: CallRequest = {
      upstream,
      method: call?.method ?? context.route.method,
      path: upstreamPath(context, target, call),
      headers: outgoingHeaders(context, target, outgoing),
      body: out.body,
      reuse: upstream.reuse ?? context.route.reuse ?? true,
      payer: context.payer,
      ...(request.retries && { endsAt: request.retries.endsAt }),
      ...(opening && { upgrade: 'websocket' }),
    }
    return request.socket ? this.transport.open(request.req, request.socket.socket, sent) : this.transport.send(sent)
  }

  /** How a plugin calls the upstream as often as it needs to. `send` sends one request. */
  session(
    context: RequestContext,
    target: Target,
    callUpstream: CallUpstream,
    headers: { readonly [name: string]: string },
    sendOne: (sent: CallRequest) => Call,
  ): UpstreamSession {
    const { upstream } = target
    const address = addressOf(context, target)
    const reuse = upstream.reuse ?? context.route.reuse ?? true
    const resolve = (url: string): string => this.#parts.resolveUrl(url)
    // Requests of a session after its first continue work that has begun, as do all of a resumed one.
    let isFollowUp = context.slots.get(jobSlot)?.resumed !== undefined
    const send = (upstreamRequest: UpstreamRequest): Sent => {
      const own = upstreamRequest.operation === undefined ? address : addressOfOther(context, target, upstreamRequest)
      const sent = toRequest(upstreamRequest, { upstream, address: own, reuse, headers, resolve })
      const call = sendOne({ ...sent, payer: context.payer, isFollowUp })
      isFollowUp = true
      return { call, open: head => openSource(call, head, upstream) }
    }
    return new UpstreamSession(callUpstream, { upstream, send, clock: this.#parts.clock })
  }
}
