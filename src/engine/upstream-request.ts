import type { Body, Upstream } from '../domain/index.ts'
import type { UpstreamRequest } from '../plugin-api/index.ts'
import { type HostPattern, parseHostPattern } from '../util/index.ts'
import type { CallRequest } from './call-request.ts'
import { fail } from './errors.ts'
import { checkForeign } from './foreign-url.ts'
import { fixedHeaders } from './headers.ts'
import type { Address } from './outbound.ts'

type Asking = {
  readonly upstream: Upstream
  /** The path of the operation. */
  readonly address: Address
  readonly reuse: boolean
  /** More headers for every request. */
  readonly headers: { readonly [name: string]: string }
  /** An upstream's configured url, as one that can be dialled. */
  readonly resolve: (url: string) => string
}

/**
 * One request of a session, without the client's own head.
 * @throws Failure upstream_address_refused for an address of an answer that may not be called
 */
export function toRequest(
  request: UpstreamRequest,
  { upstream, address, reuse, headers, resolve }: Asking,
): CallRequest {
  const { body, url } = request
  const isOwn = request.path === undefined && url === undefined
  const more = { ...headers, ...(isOwn && address.headers), ...request.headers, ...contentType(body) }
  const method = request.method ?? (isOwn ? address.method : 'GET')
  if (url === undefined) {
    const list = toList(upstream, more)
    return { upstream, method, path: request.path ?? address.path, headers: list, body, reuse }
  }
  const own = new URL(resolve(upstream.url))
  const verdict = checkForeign(url, { own, hosts: patternsOf(request.hosts) })
  if (verdict.kind === 'refused') throw fail('upstream_address_refused', { url: verdict.why })
  const { url: target, sameOrigin } = verdict
  const path = target.pathname + target.search
  if (sameOrigin) {
    const own = { ...upstream, url: target.origin }
    const there = request.withCredential === false ? { ...own, ...stranger } : own
    return { upstream: there, method, path, headers: toList(there, more), body, reuse }
  }
  // A key that is sent encrypted is not sent in clear because an answer demands it.
  const isSafe = target.protocol === 'https:' || own.protocol === 'http:'
  const withCredential = request.withCredential === true && isSafe
  const sent = { ...request.headers, ...contentType(body) }
  const list = withCredential ? toList(upstream, sent) : toList(stranger, sent)
  return {
    upstream: hastened(upstream),
    method,
    path,
    headers: list,
    body,
    reuse: false,
    foreign: { ...verdict, withCredential },
  }
}

/** An upstream that gets no client headers. */
const stranger: Pick<Upstream, 'credential' | 'headers' | 'query'> = { credential: [], headers: {}, query: {} }

/** The longest wait for a host that an answer names. */
const foreignFirstByteMs = 30_000
const foreignTotalMs = 120_000

function hastened(upstream: Upstream): Upstream {
  const { firstByteMs, totalMs } = upstream.timeouts
  const timeouts = {
    ...upstream.timeouts,
    firstByteMs: Math.min(firstByteMs, foreignFirstByteMs),
    totalMs: Math.min(totalMs, foreignTotalMs),
  }
  return { ...upstream, timeouts }
}

/** By the list of the configuration. */
const parsed = new WeakMap<readonly string[], readonly HostPattern[]>()

/** An invalid pattern, which `check` reports, matches nothing. */
function patternsOf(hosts: readonly string[] | undefined): readonly HostPattern[] {
  if (!hosts) return []
  let patterns = parsed.get(hosts)
  if (!patterns) {
    patterns = hosts.flatMap(host => parseHostPattern(host) ?? [])
    parsed.set(hosts, patterns)
  }
  return patterns
}

function contentType(body: Body): { readonly [name: string]: string } {
  if (body.kind === 'json') return { 'content-type': 'application/json' }
  return body.kind === 'stream' || body.kind === 'composed' ? { 'content-type': body.contentType } : {}
}

function toList(
  upstream: Pick<Upstream, 'credential' | 'headers' | 'query'>,
  more: { readonly [name: string]: string },
): string[] {
  const list = [...fixedHeaders(upstream).list]
  for (const [name, value] of Object.entries(more)) list.push(name, value)
  return list
}
