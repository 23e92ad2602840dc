import type { AdminScope } from '../domain/index.ts'
import type { AnyRoute } from './api.ts'

/** For people alone: their sessions, passwords and sign-in, and the making of tokens, so that no token makes another. */
const peopleOnly = /^\/api\/(?:account|session|setup|sign-in|playground|invitation|admin-tokens)(?:\/|$)/

/** Requests that only compute something: their fields are too large for an address. */
const reading: ReadonlySet<string> = new Set([
  'POST /api/explain',
  'POST /api/config/check',
  'POST /api/config/cost',
  'POST /api/config/propose',
  'POST /api/config/history/:id/cost',
])

/** The scope of changes by the beginning of the address; the first that fits. */
const byAddress: readonly (readonly [RegExp, AdminScope])[] = [
  [/^\/api\/(?:keys|sessions)(?:\/|$)/, 'keys'],
  [/^\/api\/users\/:name\/topups$/, 'money'],
  [/^\/api\/logs\//, 'money'],
  [/^\/api\/users(?:\/|$)/, 'people'],
  [/^\/api\/invitations(?:\/|$)/, 'people'],
  [/^\/api\/(?:alerts|cache|config|groups|objects|upstreams)(?:\/|$)/, 'config'],
]

/** Reads of tokens, which return no secret. */
const readsOfTokens: ReadonlySet<string> = new Set(['GET /api/admin-tokens', 'GET /api/admin-tokens/current'])

/** The scope that a token needs for an endpoint; undefined if no token may use it. An endpoint without a rule is closed. */
export function scopeOf({ method, url }: Pick<AnyRoute, 'method' | 'url'>): AdminScope | undefined {
  const endpoint = `${method} ${url}`
  if (readsOfTokens.has(endpoint)) return 'read'
  if (peopleOnly.test(url)) return undefined
  if (method === 'GET' || reading.has(endpoint)) return 'read'
  return byAddress.find(([address]) => address.test(url))?.[1]
}
