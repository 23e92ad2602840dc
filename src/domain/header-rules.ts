/** Headers that pass in addition to those of the API format: names in lower case, and beginnings of names. */
export type HeaderRule = { readonly names: ReadonlySet<string>; readonly prefixes: readonly string[] }

/**
 * How a message is framed, where it is from, who sends it, and what proxies add. A client's key, its cookies and its choice
 * of the account to pay are for the gateway alone; so is what a body is, since the gateway may change it.
 */
const neverUp =
  /^(?:content-|transfer-|accept-encoding$|host$|connection$|keep-alive$|te$|trailer|upgrade|expect$|via$|range$|if-|forwarded|x-forwarded|x-real-|x-original-|x-http-|x-client-ip$|cf-|proxy-|authorization$|cookie|set-|origin$|referer$|sec-|access-control-|idempotency-key$|user-agent$|x-request-id$|request-id$|x-amz-|.*-(?:organization|project)(?:-id)?$|traceparent$|tracestate$|.*api-key$|.*token$)/
/** The same of answers; request ids, limits and names of the account are the gateway's own. */
const neverDown =
  /^(?:content-|transfer-|connection$|keep-alive$|te$|trailer|upgrade|via$|date$|server$|alt-svc$|proxy-|www-authenticate$|set-cookie|clear-site-data$|strict-transport-|access-control-|cf-|x-request-id$|request-id$|(?:.*-)?ratelimit|x-amz-|.*-(?:organization|project)(?:-id)?$|location$|.*api-key$|.*token$)/

export function mayForward(name: string): boolean {
  return !neverUp.test(name)
}

export function mayReply(name: string): boolean {
  return !neverDown.test(name)
}

/** Reads `session-id` and `x-codex-*`: a last `*` is any ending. */
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
