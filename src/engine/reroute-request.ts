import { aliasesOf, type Body, type Model, readField, type Rerouted, type Route } from '../domain/index.ts'
import type { ApiFormat, Head, RequestContext } from '../plugin-api/index.ts'
import type { ActiveRequest, Running } from './active-request.ts'
import { scanObject } from './fields.ts'
import { modelFieldOf } from './target.ts'

export type FormatOf = (name: string, head: Head) => ApiFormat | undefined

/**
 * The context that the request continues with: its own, or that of the operation into which a plugin turns it. Everything
 * after this step reads, limits, charges and sends a request of that operation; the client's API format stays the one of
 * its errors, limits and heartbeats.
 * @throws Failure those of the plugin
 */
export function rerouteRequest(request: ActiveRequest, context: RequestContext, formatOf: FormatOf): RequestContext {
  const { running, body, socket } = request
  const { pipeline, plan } = running
  if (!pipeline.reroutes || socket || !body || context.route.object?.of) return context
  const name = context.params['model'] ?? readField(body, modelFieldOf(context.route))
  if (typeof name !== 'string') return context
  const model = plan.models.get(aliasesOf(context)?.get(name) ?? name)
  const rerouted = model?.enabled && rerouteTo(running, model, { context, body, name }, formatOf)
  if (!rerouted) return context
  request.body = rerouted.body
  request.context = rerouted.context
  return rerouted.context
}

type ReroutedRequest = {
  readonly context: RequestContext
  readonly body: Body
  /** The name by which the answer calls the model. */
  readonly name: string
}

/** A client's request as a plugin turns it into one for a model; undefined if none does. @throws Failure */
export function rerouteTo(
  { pipeline, plan }: Running,
  model: Model,
  { context, body, name }: ReroutedRequest,
  formatOf: FormatOf,
): { readonly context: RequestContext; readonly body: Body } | undefined {
  if (!model.accepts) return undefined
  const { route, head } = context
  const { operation } = route
  const stream = route.stream === 'field' ? undefined : route.stream === 'always'
  const rerouted = pipeline.onRoute(context, { operation, model, body, stream, parseObject: scanObject })
  if (!rerouted) return undefined
  const next = routeFor(plan.routes, rerouted)
  const dialect = next && formatOf(next.dialect, head)
  // Without a route for it the model's own check names what it supports.
  if (!next || !dialect) return undefined
  const own = { ...head, query: rerouted.query }
  const client = { route, dialect: context.dialect, head, body }
  return {
    context: { ...context, route: next, dialect, head: own, params: { ...rerouted.params, model: name }, client },
    body: rerouted.body,
  }
}

/** The route of an operation with the path that is wanted, whose requests are streams, or are not. */
function routeFor(routes: readonly Route[], { operation, stream, path = '' }: Rerouted): Route | undefined {
  const own = routes.filter(
    route =>
      route.operation === operation && route.serve === undefined && !route.session && route.upstreamPath.endsWith(path),
  )
  return (
    own.find(route => route.stream === (stream ? 'always' : 'never')) ?? own.find(route => route.stream === 'field')
  )
}
