/** Additional headers to pass: lower-case names, and prefixes of names. */
export type HeaderRule = { readonly names: ReadonlySet<string>; readonly prefixes: readonly string[] }

/**
 * Request headers that are never forwarded: framing, origin, sender and proxy headers; the client's key, cookies and
 * account. Body headers are excluded because the gateway may change the body.
 */
const neverUp =
  /^(?:content-|transfer-|accept-encoding$|host$|connection$|keep-alive$|te$|trailer|upgrade|expect$|via$|range$|if-|forwarded|x-forwarded|x-real-|x-original-|x-http-|x-client-ip$|cf-|proxy-|authorization$|cookie|set-|origin$|referer$|sec-|access-control-|idempotency-key$|user-agent$|x-request-id$|request-id$|x-amz-|.*-(?:organization|project)(?:-id)?$|traceparent$|tracestate$|.*api-key$|.*token$)/
/**
 * Response headers that are never passed on. The gateway sends its own request ids and limits; accounts stay private.
 */
const neverDown =
  /^(?:content-|transfer-|connection$|keep-alive$|te$|trailer|upgrade|via$|date$|server$|alt-svc$|proxy-|www-authenticate$|set-cookie|clear-site-data$|strict-transport-|access-control-|cf-|x-request-id$|request-id$|(?:.*-)?ratelimit|x-amz-|.*-(?:organization|project)(?:-id)?$|location$|.*api-key$|.*token$)/

export function mayForward(name: string): boolean {
  return !neverUp.test(name)
}

export function mayReply(name: string): boolean {
  return !neverDown.test(name)
}

/** Parses names such as `session-id` and `x-codex-*`. A final `*` matches any ending. */
export function parseHeaderRule(patterns: readonly string[]): HeaderRule {
  const lower = patterns.map(pattern => pattern.toLowerCase())
  return {
    names: new Set(lower.filter(pattern => !pattern.endsWith('*'))),
    prefixes: lower.filter(pattern => pattern.endsWith('*')).map(pattern => pattern.slice(0, -1)),
  }
}

export function fitsHeaderRule({ names, prefixes }: HeaderRule, name: string): boolean {
  return names.has(name) || prefixes.some(prefix => name.startsWith(prefix))
}
