import { fitsHeaderRule, type HeaderRule, mayForward, mayReply, type Upstream } from '../domain/index.ts'
import type { ApiFormat, Head } from '../plugin-api/index.ts'
import { fixedParameters, readName } from './fixed-query.ts'

/** The client's headers that any upstream may get; an API format adds its own. */
const requestPass: readonly string[] = ['accept']
/** Types of answers without readable usage: some upstreams send protocol buffers to clients that accept them. */
const unreadable = /protobuf|application\/grpc/i
/**
 * The upstream's headers that any client may get; an API format adds its own. Headers about lengths are set where bytes
 * change.
 */
const replyPass = new Set([
  'content-type',
  'content-length',
  'content-disposition',
  'content-language',
  'cache-control',
  'retry-after',
  'x-should-retry',
])

/**
 * The head of a request to an upstream as a flat list, built from an allow-list and never copied: the client's key,
 * cookies, ranges and hop-by-hop headers are excluded.
 */
export function requestHeaders(
  head: Head,
  dialect: ApiFormat,
  upstream: Upstream,
  more: { readonly [name: string]: string },
  rule?: HeaderRule,
): string[] {
  const { list: fixed, names } = fixedHeaders(upstream)
  const list = [...fixed]
  for (const name of requestPass) {
    // Replaced by what the file fixes for this call.
    if (more[name] !== undefined) continue
    const value = head.headers[name]
    if (typeof value === 'string' && !unreadable.test(value)) list.push(name, value)
  }
  for (const name of dialect.requestHeaders) {
    // The operator's fixed header applies; a second line would be read as part of the first.
    if (names.has(name)) continue
    // An empty header is not forwarded either.
    const value = head.headers[name] || dialect.requestDefaults?.[name]
    if (typeof value === 'string') list.push(name, value)
  }
  if (rule)
    addCarried(list, head, rule, name => {
      const isPassed = requestPass.includes(name) || dialect.requestHeaders.includes(name)
      return isPassed || names.has(name) || more[name] !== undefined
    })
  for (const name in more) list.push(name, more[name] as string)
  return list
}

/** Headers that the family names. Each is sent once: a second line would be read as part of the first. */
function addCarried(list: string[], { headers }: Head, rule: HeaderRule, isTaken: (name: string) => boolean): void {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== 'string' || !fitsHeaderRule(rule, name) || !mayForward(name)) continue
    if (!isTaken(name)) list.push(name, value)
  }
}

/**
 * Parameters named like keys, with or without a dollar sign, and those that set whose quota a request counts for. An
 * upstream that reads one next to ours refuses the request as if our key were bad, and one client could have that key
 * suspended for all.
 */
const keyParameter =
  /^\$?\.?(?:(?:(?:x[-_])?(?:goog[-_])?api[-_]?)?key|(?:(?:access|oauth|bearer|auth)[-_]?)?token|authorization|user[-_]?project)$/i

/**
 * System parameters of generative-language upstreams, at any path, with or without a dollar sign, that select the
 * members and encoding of an answer: an answer without its usage would be free.
 */
const shapeParameter = /^\$?\.?(?:fields|callback|alt)$/i
/** Of these the two encodings in which usage is read. */
const readableShape = /^\$?alt=(?:sse|json)$/

/**
 * The query of a request for upstreams: without parameters named like keys, because the client's key is only for us and
 * no other may accompany ours, without those that would make an answer unreadable to us, and without what is fixed for
 * the upstream.
 */
export function upstreamQuery(query: string, upstream?: Upstream): string {
  if (query === '') return query
  const fixed = upstream && fixedHeaders(upstream).parameters
  const kept = query.split('&').filter(pair => {
    const name = readName(pair)
    if (fixed?.has(name)) return false
    return !keyParameter.test(name) && (!shapeParameter.test(name) || readableShape.test(pair))
  })
  return kept.join('&')
}

type FixedHeaders = {
  readonly list: readonly string[]
  readonly names: ReadonlySet<string>
  /** Parameters that a client cannot set. */
  readonly parameters: ReadonlySet<string>
}
type Settings = Pick<Upstream, 'credential' | 'headers' | 'query'>
const known = new WeakMap<Settings, FixedHeaders>()

/** Headers of every request to an upstream, computed once. */
export function fixedHeaders(upstream: Settings): FixedHeaders {
  let fixed = known.get(upstream)
  if (!fixed) {
    const list = ['user-agent', 'tollgate', 'accept-encoding', 'identity']
    const own = upstream.credential.flatMap(one => (one.kind === 'header' ? [[one.header, one.value] as const] : []))
    for (const [name, value] of [...own, ...Object.entries(upstream.headers)]) list.push(name, value)
    fixed = {
      list,
      names: new Set([...own.map(([name]) => name), ...Object.keys(upstream.headers)]),
      parameters: fixedParameters(upstream),
    }
    known.set(upstream, fixed)
  }
  return fixed
}

/** Characters that a header line cannot carry: an answer is not lost over them. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/

/** The headers of an answer that may pass. */
export function replyHeaders(
  headers: { readonly [name: string]: string | string[] | undefined },
  dialect: ApiFormat,
  rule?: HeaderRule,
): { [name: string]: string } {
  const kept: { [name: string]: string } = {}
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== 'string' || unsendable.test(value)) continue
    const isCarried = rule !== undefined && fitsHeaderRule(rule, name) && mayReply(name)
    if (!isCarried && !replyPass.has(name) && !dialect.replyHeaders.has(name)) continue
    // Media types are case-insensitive (RFC 9110 8.3.1); later code may compare them directly.
    kept[name] = name === 'content-type' ? value.replace(/^[^;]*/, type => type.toLowerCase()) : value
  }
  return kept
}
