import type { ObjectReference } from '../domain/index.ts'
import type { RequestContext, Target } from '../plugin-api/index.ts'
import { type Awaitable, andThen } from '../util/index.ts'
import type { ActiveRequest } from './active-request.ts'
import { modelNamed } from './sessions/run-session.ts'
import { joinPins, type ObjectRecords } from './stored-objects/object-records.ts'
import { findObjectTarget } from './stored-objects/object-target.ts'
import { findTarget } from './target.ts'

/**
 * The model of a request, and the upstream and key that its stored objects pin it to. The request's body has been read.
 * @throws Failure those of `findTarget`, `findObjectTarget` and the records
 */
export function findRequestTarget(
  objects: ObjectRecords,
  request: ActiveRequest,
  context: RequestContext,
): Awaitable<Target> {
  const { body, running } = request
  if (!body) throw new Error('a target was requested before the body was read')
  const { object } = context.route
  if (!object?.of && !object?.namesNoModel) {
    const named = request.setup ? context.dialect.session?.setup?.modelOf(request.setup) : modelNamed(context)
    const target = findTarget(running.plan, context.route, body, named)
    return andThen(objects.pinOf(context, target, handleOf(request, context)), pin => {
      request.pin = pin
      return target
    })
  }
  return andThen(objects.named(context), named =>
    andThen(objects.pinOf(context, { body }), pin => {
      request.pin = joinPins(named, pin)
      const target = findObjectTarget(context, body, named, request.pin)
      return andThen(objects.admits(context, body), () => target)
    }),
  )
}

/** The session that a setup message continues. */
function handleOf({ setup }: ActiveRequest, { dialect }: RequestContext): readonly ObjectReference[] {
  const id = setup && dialect.session?.setup?.handleOf(setup)
  return id === undefined ? [] : [{ kind: 'session handle', id, place: 'setup.sessionResumption.handle' }]
}
