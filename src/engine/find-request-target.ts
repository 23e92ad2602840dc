import {
  aliasesOf,
  type BatchTraits,
  type Body,
  type ObjectReference,
  readField,
  storedObjectSlot,
} from '../domain/index.ts'
import type { RequestContext, Target } from '../plugin-api/index.ts'
import { type Awaitable, andThen } from '../util/index.ts'
import { listElements, skipBlanks } from '../wire/index.ts'
import { scanObject } from './fields.ts'
import type { ActiveRequest } from './active-request.ts'
import { modelNamed } from './sessions/run-session.ts'
import { joinPins, type ObjectRecords } from './stored-objects/object-records.ts'
import { findObjectTarget } from './stored-objects/object-target.ts'
import { findTarget } from './target.ts'

/** The model of the first request of a batch whose body has them all. */
function modelInList({ requests }: BatchTraits, body: Body): string | undefined {
  if (!('list' in requests) || body.kind !== 'json' || !body.json.elements(requests.list)) return undefined
  const [first] = listElements(body.json.raw(requests.list) as Buffer)
  if (first?.[skipBlanks(first)] !== openObject) return undefined
  const inner = scanObject(first).raw(requests.body)
  if (inner?.[0] !== openObject) return undefined
  const name = scanObject(inner).get('model')
  return typeof name === 'string' ? name : undefined
}

const openObject = 0x7b

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
    const target = findTarget(running.plan, context.route, body, modelOf(request, context, body), aliasesOf(context))
    // Most requests neither create stored objects nor name any.
    if (!object && !request.setup && !namesObjects(target.body)) return target
    return andThen(objects.pinOf(context, target, handleOf(request, context)), pin => {
      request.pin = pin
      return andThen(objects.admits(context, body), () => target)
    })
  }
  return andThen(objects.named(context), named =>
    andThen(objects.pinOf(context, { body }), pin => {
      if (named) context.slots.put(storedObjectSlot, named)
      request.pin = joinPins(named, pin)
      const target = findObjectTarget(context, body, named, request.pin)
      return andThen(objects.admits(context, body), () => target)
    }),
  )
}

function namesObjects(body: Body): boolean {
  return body.kind === 'json' && body.json.declared.objects.length > 0
}

/** The model of a body whose names have a prefix; undefined if this one has none. */
function modelWithPrefix(body: Body, prefix: string): string | undefined {
  const name = readField(body, 'model')
  return typeof name === 'string' && name.startsWith(prefix) ? name.slice(prefix.length) : undefined
}

/** The session that a setup message continues. */
function handleOf({ setup }: ActiveRequest, { dialect }: RequestContext): readonly ObjectReference[] {
  const id = setup && dialect.session?.setup?.handleOf(setup)
  return id === undefined ? [] : [{ kind: 'session handle', id, place: 'setup.sessionResumption.handle' }]
}

/** The model that something else than the field `model` names; undefined if nothing does. */
function modelOf({ setup }: ActiveRequest, context: RequestContext, body: Body): string | undefined {
  if (setup) return context.dialect.session?.setup?.modelOf(setup)
  const { part, params, route } = context
  const named = part ? modelNamed(context) : params['model']
  const prefix = route.object?.creates?.modelPrefix
  const batch = route.deferred?.batch
  return (
    named ?? (prefix === undefined ? undefined : modelWithPrefix(body, prefix)) ?? (batch && modelInList(batch, body))
  )
}
