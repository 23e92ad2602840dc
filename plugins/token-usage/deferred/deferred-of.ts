import { type Body, type DeferredTraits, readField, type RequestContext } from '../../../src/plugin-api/index.ts'

/** How a request's work goes on after its response; undefined if the response ends it. */
export function deferredOf({ route }: Pick<RequestContext, 'route'>, body: Body): DeferredTraits | undefined {
  const { deferred } = route
  if (!deferred) return undefined
  return deferred.when === undefined || readField(body, deferred.when) === true ? deferred : undefined
}
