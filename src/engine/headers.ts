import { fitsHeaderRule, type HeaderRule, mayForward, mayReply, type Upstream } from '../domain/index.ts'
import type { ApiFormat, Head } from '../plugin-api/index.ts'
import { fixedParameters, readName } from './fixed-query.ts'

/** Of the caller's headers, those that any upstream may see; a dialect adds its own. */
const requestPass = ['accept'] as const
/** Types of answers in which no usage could be read: some upstreams write protocol buffers for clients that accept them. */
const unreadable = /protobuf|application\/grpc/i
/** Of an upstream's headers, those that any caller may see; a dialect adds its own. What measures bytes goes where they change. */
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
 * The head of a request to an upstream as a flat list, built from an allow-list and never copied: the caller's
 * key, cookies, ranges and hop-by-hop headers have no way in.
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
    // What the file fixes for this call replaces it.
    if (more[name] !== undefined) continue
    const value = head.headers[name]
    if (typeof value === 'string' && !unreadable.test(value)) list.push(name, value)
  }
  for (const name of dialect.requestHeaders) {
    // What the operator fixed for the upstream stays; a second line would be read as part of the first.
    if (names.has(name)) continue
    // Sent empty it is not forwarded either.
    const value = head.headers[name] || dialect.requestDefaults?.[name]
    if (typeof value === 'string') list.push(name, value)
  }
  if (rule) addCarried(list, head, { rule, taken: [...requestPass, ...dialect.requestHeaders], names, more })
  for (const name in more) list.push(name, more[name] as string)
  return list
}

type Taken = {
  readonly rule: HeaderRule
  readonly taken: readonly string[]
  readonly names: ReadonlySet<string>
  readonly more: { readonly [name: string]: string }
}

/** Headers that the family names. Each goes once: a second line would be read as part of the first. */
function addCarried(list: string[], { headers }: Head, { rule, taken, names, more }: Taken): void {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== 'string' || !fitsHeaderRule(rule, name) || !mayForward(name)) continue
    if (names.has(name) || more[name] !== undefined || taken.includes(name)) continue
    list.push(name, value)
  }
}

/**
 * Keys by their name, with a dollar sign or without, and whose quota a request counts for: an upstream that reads one next to
 * ours refuses the request as if our key were bad, and its sender would have that suspended for all.
 */
const keyParameter =
  /^\$?\.?(?:(?:(?:x[-_])?(?:goog[-_])?api[-_]?)?key|(?:(?:access|oauth|bearer|auth)[-_]?)?token|authorization|user[-_]?project)$/i

/**
 * What generative-language upstreams take, at any path, for the choice of which members an answer has and how it is
 * written (their system parameters, with a dollar sign or without): an answer without its usage would be one that is free.
 */
const shapeParameter = /^\$?\.?(?:fields|callback|alt)$/i
/** Of these the two ways of writing in which usage is read. */
const readableShape = /^\$?alt=(?:sse|json)$/

/**
 * The query of a request as upstreams may see it: without parameters that are keys by their name, since the caller's key is
 * for us alone and no other may be next to ours, without those that would make an answer unreadable to us, and without
 * what is fixed for the upstream.
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
  /** Names in the query that a caller has no say in. */
  readonly parameters: ReadonlySet<string>
}
type Settings = Pick<Upstream, 'credential' | 'headers' | 'query'>
const known = new WeakMap<Settings, FixedHeaders>()

/** What every request to an upstream carries, worked out once. */
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

/** What a header line cannot carry: an answer is not lost over it. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/

/** The head of an answer reduced to what may pass. */
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
    // Media types are alike in any case (RFC 9110 8.3.1); all later code may compare them as they are.
    kept[name] = name === 'content-type' ? value.replace(/^[^;]*/, type => type.toLowerCase()) : value
  }
  return kept
}
