import { type Body, callerSlot, mayAsk, type Model, type StoredObject } from '../../domain/index.ts'
import type { RequestContext, Target } from '../../plugin-api/index.ts'
import { fail } from '../errors.ts'
import { targetOn } from '../target.ts'
import type { Pin } from './object-records.ts'

/** Query parameter that requests a stream. */
const streams = /(?:^|&)stream=true(?:&|$)/

/**
 * Target of a request that names no model: the model that made the object in the path. Without an object, or if that model is
 * gone, it is the first model that runs where the object is and whose family offers the operation.
 * @throws Failure object_unplanned, operation_unoffered, streaming_unsupported
 */
export function findObjectTarget(
  context: RequestContext,
  body: Body,
  named: StoredObject | undefined,
  pin: Pin | undefined,
): Target {
  const { plan, route, head } = context
  const own = named && plan.models.get(named.model)
  const carrier = (): Model | undefined => {
    return [plan.models.values(), plan.wildcards ?? []].flatMap(all => [...all]).find(one => carries(one, context, pin))
  }
  const model = own && carries(own, context, pin) ? own : carrier()
  if (!model) throw refusal(context, named)
  const { family } = model
  const stream = route.body === 'none' && streams.test(head.query)
  if (stream && !family.streams.has(route.operation)) throw fail('streaming_unsupported', { model: model.name })
  return targetOn(model, route, body, stream)
}

/** Whether the family offers the operation, the model runs where the objects are, and the client may use it. */
function carries(model: Model, { route, slots }: RequestContext, pin: Pin | undefined): boolean {
  if (!model.enabled || !model.family.forward.has(route.operation)) return false
  if (pin && !model.upstreams.some(({ upstream }) => upstream.name === pin.upstream)) return false
  const caller = slots.get(callerSlot)
  return !caller || mayAsk(caller, model.name)
}

function refusal({ route: { method, path } }: RequestContext, named: StoredObject | undefined): Error {
  if (named) return fail('object_unplanned', { id: named.id.slice(0, 120) })
  return fail('operation_unoffered', { method, path })
}
