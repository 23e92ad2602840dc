import type { IncomingMessage } from 'node:http'

/**
 * What scripts in a browser may read besides the headers that they always may (`docs/wire.md#browser-clients`).
 */
const exposed = [
  'x-request-id',
  'request-id',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
].join(', ')
const preflightSeconds = '7200'

type Headers = { readonly [name: string]: string }

const none: Headers = {}
const varies: Headers = { vary: 'Origin' }

/** The headers that let the request's origin read the answer; none if it may not, or the client is no browser. */
export function corsHeaders(req: IncomingMessage, origins: readonly string[]): Headers {
  if (origins.length === 0) return none
  const origin = allowedOrigin(req, origins)
  if (origin === undefined) return varies
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed, vary: 'Origin' }
}

/**
 * The answer to a preflight, which has no key; undefined if the request is none, or its origin is not allowed.
 * Requested headers are echoed: `*` does not include Authorization (Fetch standard).
 */
export function preflightHeaders(
  req: IncomingMessage,
  origins: readonly string[],
  allow: readonly string[],
): Headers | undefined {
  if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return undefined
  const origin = allowedOrigin(req, origins)
  if (origin === undefined) return undefined
  const requestedHeaders = req.headers['access-control-request-headers']
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': allow.join(', '),
    ...(requestedHeaders !== undefined && { 'access-control-allow-headers': requestedHeaders.slice(0, 2048) }),
    'access-control-max-age': preflightSeconds,
    vary: 'Origin, Access-Control-Request-Headers',
  }
}

function allowedOrigin(req: IncomingMessage, origins: readonly string[]): string | undefined {
  const { origin } = req.headers
  if (origin === undefined || origins.length === 0) return undefined
  return origins.includes(origin) || origins.includes('*') ? origin : undefined
}
