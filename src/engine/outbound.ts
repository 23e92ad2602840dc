import type { Call } from '../domain/index.ts'
import type { Outbound, RequestContext, Target, UpstreamRequest } from '../plugin-api/index.ts'
import { requestHeaders, upstreamQuery } from './headers.ts'
import { applyForward, modelFieldOf } from './target.ts'

/** The request as the upstream gets it, before hooks change it. */
export function shapeOutbound(context: RequestContext, target: Target): Outbound {
  const rule = target.family.forward.get(context.route.operation)
  const { body, forwarded, dropped } = applyForward(target.body, rule, target, modelFieldOf(context.route))
  context.notes.forwarded = forwarded
  context.notes.dropped = dropped
  return { body, headers: {}, detach: false }
}

/** Where a request goes, as the upstream gets it. */
export type Address = {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
}

/** The path of an operation at an upstream, if it is not the route's path; else undefined. */
export function callOf({ route: { operation } }: RequestContext, { upstream, family }: Target): Call | undefined {
  // The upstream's setting precedes the family's.
  return upstream.calls?.get(operation) ?? family.calls?.get(operation)
}

export function addressOf(context: RequestContext, target: Target): Address {
  const call = callOf(context, target)
  return {
    method: call?.method ?? context.route.method,
    path: upstreamPath(context, target, call),
    headers: call?.headers ?? noHeaders,
  }
}

/** Address of another operation of the target's family. @throws Error if the configuration has no route for it */
export function addressOfOther(
  context: RequestContext,
  target: Target,
  { operation = '', params = {} }: Pick<UpstreamRequest, 'operation' | 'params'>,
): Address {
  const route = context.plan.routes.find(one => one.operation === operation && one.serve === undefined)
  if (!route) throw new Error(`no route for ${operation}`)
  const head = { ...context.head, query: '' }
  return addressOf({ ...context, head, route, params }, { ...target, stream: false })
}

/** Path and query as the upstream gets them. */
export function upstreamPath(context: RequestContext, target: Target, call: Call | undefined): string {
  if (call) return callPath(call, context, target)
  const { upstreamPath: template } = context.route
  const path = template.includes('{') ? fillPath(template, { ...context.params, model: target.sendAs }) : template
  // What else the query of a session may hold names other people's sessions, or is for us.
  const query = context.part ? sessionQuery(context, target) : context.head.query
  return withQuery(path, upstreamQuery(query, target.upstream))
}

function callPath({ path, query, stream }: Call, context: RequestContext, target: Target): string {
  const template = (target.stream ? stream.path : undefined) ?? path
  const given = new URLSearchParams((target.stream ? stream.query : undefined) ?? query)
  return withQuery(fillPath(template, { ...context.params, model: target.sendAs }), given.toString())
}

/** A session names its model in the query, in its first message, or in its settings. */
function sessionQuery({ dialect, route }: RequestContext, { sendAs }: Target): string {
  const isNamed = dialect.session?.setup !== undefined || route.object?.namesNoModel === true
  return isNamed ? '' : `model=${encodeURIComponent(sendAs)}`
}

const noHeaders = {}

function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}?${query}`
}

/**
 * The template with its names filled in; slashes and colons of a value stay unless it has to be one segment; everything
 * else is escaped.
 */
export function fillPath(template: string, params: { readonly [name: string]: string }): string {
  return template.replaceAll(/\{(\w+)(:segment)?\}/g, (_whole, name: string, segment: string | undefined) => {
    const escaped = encodeURIComponent(params[name] ?? '')
    return segment === undefined ? escaped.replaceAll('%2F', '/').replaceAll('%3A', ':') : escaped
  })
}

/** Flat list of names and values. */
export function outgoingHeaders(context: RequestContext, target: Target, out: Outbound): string[] {
  const { upstream, family } = target
  const headers = requestHeaders(context.head, context.dialect, upstream, out.headers, family.forwardHeaders)
  if (out.body.kind === 'json') headers.push('content-type', 'application/json')
  else if ((out.body.kind === 'stream' && out.body.contentType !== '') || out.body.kind === 'composed')
    headers.push('content-type', out.body.contentType)
  return headers
}
