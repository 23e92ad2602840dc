import type { IncomingMessage } from 'node:http'
import { type Route, Slots } from '../domain/index.ts'
import type { ApiFormat, Head, Notes, RequestContext } from '../plugin-api/index.ts'
import type { ActiveRequest } from './active-request.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { fail } from './errors.ts'
import { readHead } from './read-head.ts'
import type { Match, Router } from './router.ts'

/** A browser's preflight request: answered before a key is looked up. */
export class Preflight extends Error {
  readonly headers: { readonly [name: string]: string }

  constructor(headers: { readonly [name: string]: string }) {
    super('preflight')
    this.headers = headers
  }
}

/**
 * Reads the head of a request and finds its route. @throws Failure; Preflight for what browsers send before a request
 */
export function beginRequest(
  { req, running, id, startedAt, socket }: ActiveRequest,
  formatOf: (name: string, head: Head) => ApiFormat | undefined,
  isDraining: boolean,
): RequestContext {
  const { plan, router } = running
  const { corsOrigins, trustedProxies } = plan.server
  const head = readHead(req, trustedProxies)
  if (head.path === '*') throw new Preflight({ allow: router.methods.join(', ') })
  const match = router.find(head.method, head.path)
  if (match.kind !== 'route') throw refuseRoute(req, head, match, corsOrigins)
  const found = routeOf(match, head, formatOf)
  if (found.session && !socket) throw fail('websocket_wanted', { path: head.path }, { headers: toWebSocket })
  if (isDraining) throw fail('draining', {}, { retryAfterMs: 1_000, headers: { connection: 'close' } })
  const format = formatOf(found.dialect, head)
  if (!format) throw new Error(`no API format '${found.dialect}'`)
  const route = found.session ? routeOfSession(found, { head, format, router }) : found
  return {
    id,
    startedAt,
    head,
    route,
    params: match.params,
    dialect: format,
    plan,
    slots: new Slots(),
    notes: createNotes(),
    payer: '',
    limits: [],
    ...(route.session && { part: { kind: 'session' as const } }),
    answerHeaders: corsOrigins.length > 0 ? { ...corsHeaders(req, corsOrigins) } : {},
  }
}

/** The route of the client's API format, where several formats share a path; the first route for any other format. */
function routeOf(
  { route, others }: Extract<Match, { readonly kind: 'route' }>,
  head: Head,
  formatOf: (name: string, head: Head) => ApiFormat | undefined,
): Route {
  if (others.length === 0) return route
  const name = formatOf('by-caller', head)?.name
  return [route, ...others].find(one => one.dialect === name) ?? route
}

/**
 * A session names its model in the query, or requests a variant: a route with that query in its path.
 * @throws Failure session_query, session_call
 */
function routeOfSession(
  route: Route,
  { head, format, router }: { head: Head; format: ApiFormat; router: Router },
): Route {
  const names = format.session?.query
  if (!names || route.session?.each) return route
  const params = new URLSearchParams(head.query)
  // Calls are made without the gateway, so they belong to other clients.
  const call = params.get(names.call)
  if (call !== null) throw fail('session_call', { id: call.slice(0, 120) }, { param: names.call })
  const variant = params.get(names.variant)
  if (variant === null) return route
  const path = `${head.path}?${names.variant}=${variant}`
  const found = router.find(route.method, path)
  if (found.kind !== 'route' || found.route.path !== path || !found.route.session)
    throw fail('session_query', { why: `'${names.variant}' has an unknown value` }, { param: names.variant })
  if (!params.has('model')) return found.route
  throw fail('session_query', { why: `it has both 'model' and '${names.variant}'` }, { param: 'model' })
}

const toWebSocket = { upgrade: 'websocket', connection: 'upgrade, close' }

function refuseRoute(
  req: IncomingMessage,
  head: Head,
  match: Exclude<Match, { readonly kind: 'route' }>,
  corsOrigins: readonly string[],
): Error {
  const method = head.method.slice(0, 16)
  const path = head.path.slice(0, 200)
  if (match.kind === 'none') return fail('not_found', { method, path })
  const preflight = corsOrigins.length > 0 ? preflightHeaders(req, corsOrigins, match.allow) : undefined
  if (preflight) return new Preflight(preflight)
  if (/\bwebsocket\b/i.test(req.headers.upgrade ?? '')) {
    // RFC 9110 15.5.22: clients then use HTTP at once; after a 405 they tried seven times.
    const headers = { upgrade: 'HTTP/1.1', connection: 'upgrade, close' }
    return fail('websocket_unsupported', { path }, { headers })
  }
  const allow = match.allow.join(', ')
  return fail('method_not_allowed', { path, allow, method }, { headers: { allow } })
}

export function createNotes(): Notes {
  return {
    forwarded: [],
    dropped: [],
    charge: false,
    inputTokens: null,
    outputTokens: null,
  }
}
