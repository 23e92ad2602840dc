import type { AdminScope } from '../domain/index.ts'
import type { AnyRoute } from './api.ts'

/**
 * Endpoints only for people: sessions, passwords, sign-ins, and the creation of tokens, which tokens must not create.
 */
const peopleOnly = /^\/api\/(?:account|session|setup|sign-in|playground|invitation|admin-tokens)(?:\/|$)/

/** Requests that only compute a result, but have too many fields for a query. */
const reading: ReadonlySet<string> = new Set([
  'POST /api/explain',
  'POST /api/config/check',
  'POST /api/config/cost',
  'POST /api/config/propose',
  'POST /api/config/history/:id/cost',
])

/** The scope of changes by the beginning of the path; the first match counts. */
const byAddress: readonly (readonly [RegExp, AdminScope])[] = [
  [/^\/api\/(?:keys|sessions)(?:\/|$)/, 'keys'],
  [/^\/api\/users\/:name\/topups$/, 'money'],
  [/^\/api\/logs\//, 'money'],
  [/^\/api\/users(?:\/|$)/, 'people'],
  [/^\/api\/invitations(?:\/|$)/, 'people'],
  [/^\/api\/(?:alerts|cache|config|groups|objects|upstreams)(?:\/|$)/, 'config'],
]

/** Reading tokens, which returns no secret. */
const readsOfTokens: ReadonlySet<string> = new Set(['GET /api/admin-tokens', 'GET /api/admin-tokens/current'])

/**
 * The scope that a token needs for an endpoint; undefined if no token may use it. An endpoint without a rule is
 * refused.
 */
export function scopeOf({ method, url }: Pick<AnyRoute, 'method' | 'url'>): AdminScope | undefined {
  const endpoint = `${method} ${url}`
  if (readsOfTokens.has(endpoint)) return 'read'
  if (peopleOnly.test(url)) return undefined
  if (method === 'GET' || reading.has(endpoint)) return 'read'
  return byAddress.find(([address]) => address.test(url))?.[1]
}
