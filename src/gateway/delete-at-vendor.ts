import { findApiFormat } from '../api-formats/index.ts'
import {
  type Call,
  type CompiledConfig,
  goneStatuses,
  keptHere,
  type Model,
  type Route,
  type StoredObject,
  type Upstream,
  type VendorDeletion,
} from '../domain/index.ts'
import { fixedHeaders } from '../engine/headers.ts'
import { fillPath } from '../engine/outbound.ts'
import { type OpenTransport, openTransport } from './open-transport.ts'

/** Deletes an object at the upstream, with the key that created it. Works without a running gateway. Never rejects. */
export async function deleteAtVendor(plan: CompiledConfig, object: StoredObject): Promise<VendorDeletion> {
  // The gateway stored the object itself, and its content was deleted with its record.
  if (object.upstream === keptHere) return { kind: 'deleted' }
  const upstream = upstreamOf(plan, object)
  const found = upstream && requestOf(plan, object, upstream)
  if (!found) return { kind: 'impossible' }
  let open: OpenTransport | undefined
  try {
    open = await openTransport(plan)
    const call = open.transport.send({ upstream, ...found, body: { kind: 'none' }, reuse: false })
    const { status } = await call.head
    call.abort(new Error('its head is enough'))
    if (status >= 200 && status < 300) return { kind: 'deleted' }
    return goneStatuses.has(status) ? { kind: 'gone' } : { kind: 'refused', status }
  } catch (error) {
    return { kind: 'unreached', why: error instanceof Error ? error.message : String(error) }
  } finally {
    await open?.close()
  }
}

/** The upstream with the key that created the object; a null name means its only key. */
function upstreamOf({ upstreams }: CompiledConfig, object: StoredObject): Upstream | undefined {
  const upstream = upstreams.get(object.upstream)
  if (!upstream?.keys || upstream.keys.length === 0) return upstream
  const keys = object.vendorKey === null ? upstream.keys : upstream.keys.filter(({ name }) => name === object.vendorKey)
  return keys[0]?.upstream
}

type Deletion = { readonly method: string; readonly path: string; readonly headers: string[] }

function requestOf(plan: CompiledConfig, object: StoredObject, upstream: Upstream): Deletion | undefined {
  const own = plan.models.get(object.model)
  const models = [...(own ? [own] : []), ...plan.models.values()].filter(model => runsOn(model, object.upstream))
  for (const { family } of models) {
    const route = plan.routes.find(one => deletes(one, object) && family.forward.has(one.operation))
    if (!route) continue
    return toDeletion(
      route,
      object,
      upstream,
      upstream.calls?.get(route.operation) ?? family.calls?.get(route.operation),
    )
  }
  return undefined
}

function runsOn({ upstreams }: Model, name: string): boolean {
  return upstreams.some(({ upstream }) => upstream.name === name)
}

function deletes({ method, object }: Route, { kind, id }: StoredObject): boolean {
  const of = object?.of
  return method === 'DELETE' && of?.ends === true && of.kind === kind && id.startsWith(of.prefix ?? '')
}

function toDeletion(route: Route, object: StoredObject, upstream: Upstream, call: Call | undefined): Deletion {
  const { prefix = '', headers: wanted = {} } = route.object?.of ?? {}
  const head = { method: 'DELETE', path: route.path, query: '', headers: {}, remote: '' }
  const headers = { ...findApiFormat(route.dialect, head)?.requestDefaults, ...wanted, ...call?.headers }
  const own = fixedHeaders(upstream)
  const more = Object.entries(headers).filter(([name]) => !own.names.has(name))
  const path = fillPath(call?.path ?? route.upstreamPath, { id: object.id.slice(prefix.length), model: object.model })
  const query = new URLSearchParams(call?.query ?? {}).toString()
  return {
    method: call?.method ?? 'DELETE',
    path: query === '' ? path : `${path}?${query}`,
    headers: [...own.list, 'accept', 'application/json', ...more.flat()],
  }
}
