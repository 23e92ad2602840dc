import { Failure, type Model } from '../domain/index.ts'
import { type RequestContext, Slots, type Target } from '../plugin-api/index.ts'
import type { ActiveRequest, Reached } from './active-request.ts'
import { type FormatOf, rerouteTo } from './reroute-request.ts'
import { findTarget } from './target.ts'

/**
 * How the fallbacks of a model get a request: as the client sent it, or turned into one of the operation that their
 * family forwards. Found once for each, when it is first to be tried. Undefined for one that cannot take the request.
 */
export function fallbackReacher(
  request: ActiveRequest,
  admitted: RequestContext,
  first: Target,
  formatOf: FormatOf,
): (model: Model) => Reached | undefined {
  const found = new Map<Model, Reached | undefined>()
  const { running, clientRequest } = request
  return model => {
    if (!clientRequest || found.has(model)) return found.get(model)
    const { limits, payer } = admitted
    // What plugins note of one model's request is not that of another's.
    const context = { ...clientRequest.context, limits, payer, slots: new Slots(admitted.slots) }
    const reached = orUndefined(() => {
      const { forward } = model.family
      const isNative = forward.size === 0 || forward.has(context.route.operation)
      const own = { context, body: clientRequest.body, name: model.name }
      const sent = isNative ? own : rerouteTo(running, model, own, formatOf)
      if (!sent) return undefined
      const target = findTarget(running.plan, sent.context.route, sent.body, model.name)
      const { alias, aliases, model: requested } = first
      const named = { requested, ...(alias !== undefined && { alias }), ...(aliases && { aliases }) }
      return { ...sent, target: { ...target, ...named } }
    })
    found.set(model, reached)
    return reached
  }
}

/** What a model refuses, another one may have to answer. */
function orUndefined<T>(find: () => T): T | undefined {
  try {
    return find()
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
