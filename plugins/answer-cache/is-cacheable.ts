import {
  type Body,
  type CachePolicy,
  type Json,
  readField,
  type RequestContext,
  storedObjectSlot,
  type Target,
} from '../../src/plugin-api/index.ts'

/** Fields by which requests refer to objects stored at an upstream, or store some there. */
const stateFields = [
  'previous_response_id',
  'conversation',
  'container',
  'background',
  'cached_content',
  'cachedContent',
]

/**
 * Whether an equal request may get the answer of this one: it generates text (or images, if the model allows that),
 * stores nothing and refers to no stored object, and no tool of the upstream runs for it. For a translated request, all
 * of this must be true of the client's own request too.
 */
export function isCacheable(context: RequestContext, target: Target, policy: CachePolicy): boolean {
  const { client, head, part, route, slots } = context
  const { body, further, alsoNamed } = target
  if (part || head.method !== 'POST' || slots.get(storedObjectSlot) || further?.length || alsoNamed?.length)
    return false
  if (body.kind === 'json' && body.json.declared.objects.length > 0) return false
  const isImage = route.traits?.images !== undefined || target.chargesItems
  // The plugin that charges images answers a repeated idempotency key itself.
  if (isImage)
    return !client && policy.images && head.headers['idempotency-key'] === undefined && !usesState(body, route)
  return isRepeatable(body, route) && (!client || isRepeatable(client.body, client.route))
}

function isRepeatable(body: Body, route: RequestContext['route']): boolean {
  if (!route.repeatable || body.kind !== 'json' || usesState(body, route)) return false
  if (body.json.declared.tools.length > 0) return false
  return !route.repeatable.unless.some(path => isSet(valueAt(body, path)))
}

function usesState(body: Body, { object }: RequestContext['route']): boolean {
  const { creates } = object ?? {}
  const isStored = creates?.unlessFalse !== undefined && readField(body, creates.unlessFalse) !== false
  return isStored || isSet(readField(body, 'store')) || stateFields.some(name => isSet(readField(body, name)))
}

function valueAt(body: Body, path: string): Json | undefined {
  const [field = '', ...rest] = path.split('.')
  return rest.reduce<Json | undefined>(memberOf, readField(body, field))
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (value as { readonly [member: string]: Json })[name]
}

function isSet(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== ''
}
