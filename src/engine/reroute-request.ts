import { aliasesOf, readField, type Route } from '../domain/index.ts'
import type { ApiFormat, Head, RequestContext } from '../plugin-api/index.ts'
import type { ActiveRequest } from './active-request.ts'
import { scanObject } from './fields.ts'

/**
 * The context that the request continues with: its own, or that of the operation into which a plugin turns it. Everything
 * after this step reads, limits, charges and sends a request of that operation; the client's API format stays the one of
 * its errors, limits and heartbeats.
 * @throws Failure those of the plugin
 */
export function rerouteRequest(
  request: ActiveRequest,
  context: RequestContext,
  formatOf: (name: string, head: Head) => ApiFormat | undefined,
): RequestContext {
  const { running, body, socket } = request
  const { pipeline, plan } = running
  const { route, head, params } = context
  if (!pipeline.reroutes || socket || !body || route.object?.of) return context
  const name = params['model'] ?? readField(body, 'model')
  if (typeof name !== 'string') return context
  const model = plan.models.get(aliasesOf(context)?.get(name) ?? name)
  if (!model?.enabled || !model.accepts) return context
  const stream = route.stream === 'field' ? undefined : route.stream === 'always'
  const rerouted = pipeline.onRoute(context, {
    operation: route.operation,
    model,
    body,
    stream,
    parseObject: scanObject,
  })
  if (!rerouted) return context
  const next = routeFor(plan.routes, rerouted.operation, rerouted.stream)
  const dialect = next && formatOf(next.dialect, head)
  // Without a route for it the model's own check names what it supports.
  if (!next || !dialect) return context
  const own = { ...head, query: rerouted.query }
  request.body = rerouted.body
  const client = { route, dialect: context.dialect, head, body }
  request.context = { ...context, route: next, dialect, head: own, params: { model: name }, client }
  return request.context
}

/** The route of an operation whose requests are streams, or are not, as wanted. */
function routeFor(routes: readonly Route[], operation: string, stream: boolean): Route | undefined {
  const own = routes.filter(route => route.operation === operation && route.serve === undefined && !route.session)
  return (
    own.find(route => route.stream === (stream ? 'always' : 'never')) ?? own.find(route => route.stream === 'field')
  )
}
