import type { IncomingMessage } from 'node:http'
import type { Head } from '../plugin-api/index.ts'
import { callerAddress } from '../util/index.ts'
import { fail } from './errors.ts'
import { findHostFault, takeOriginForm } from './request-target.ts'

/** The most header lines of a request. */
const headerLinesMax = 100
/** Headers that decide who the client is or where a body ends: two of them contradict each other. */
const single = new Set(['host', 'authorization', 'content-type', 'content-length', 'transfer-encoding'])
/** Headers about a message's framing, origin, sender, or treatment by proxies. */
const reserved =
  /^(?:content-|transfer-|x-forwarded|x-real-|x-original-|x-http-|forwarded|host$|connection$|keep-alive$|te$|trailer|upgrade|expect$|via$|proxy-|authorization$|cookie|set-|origin$|sec-|access-control-|idempotency-key$|x-request-id$|.*api-key$|.*token$)/
const pathText = /^\/[A-Za-z0-9\-._~!$&'()*+,=:@/%]*$/
const pathTricks = /\/\/|\/\.{1,2}(?:\/|$)|%(?:00|2e|5c|0a|0d|25)|%(?![0-9a-f]{2})/i
/** Printable ASCII without `#`: allowed in a query, and read alike by every HTTP client and server. */
const queryText = /^[!"$-~]*$/
const pathBytesMax = 8192

/**
 * The front filter: what reaches the router is one unambiguous request (`docs/security.md#request-limits`).
 * @throws Failure path_invalid, header_duplicate, header_invalid, too_many_headers, expectation_unsupported,
 * http_version_unsupported
 */
export function readHead(req: IncomingMessage, trustedProxies?: readonly string[]): Head {
  if (req.httpVersionMajor !== 1) throw fail('http_version_unsupported')
  takeOriginForm(req)
  const url = req.url ?? '/'
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const isPath = pathText.test(path) && !pathTricks.test(path)
  if (url.length > pathBytesMax || !(isPath || isOfServer(req))) throw fail('path_invalid')
  const query = mark < 0 ? '' : url.slice(mark + 1)
  if (!queryText.test(query)) throw fail('path_invalid')
  checkHeaders(req)
  return {
    method: req.method ?? '',
    path,
    query,
    headers: withHyphens(req.headers),
    remote: callerAddress(req.socket.remoteAddress ?? '', req.headers['x-forwarded-for'], trustedProxies),
  }
}

/** `OPTIONS *` is about the server itself (RFC 9110 9.3.7). */
function isOfServer({ method, url }: IncomingMessage): boolean {
  return method === 'OPTIONS' && url === '*'
}

/**
 * Names with underscores are legal, and some agents send them (`session_id`). Servers that use CGI names read them like
 * those with hyphens, so they count as such, unless the name is about framing, origin or sender: there one that a proxy
 * before us did not check would replace one that it did.
 */
function withHyphens(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  let changed: IncomingMessage['headers'] | undefined
  for (const name in headers) {
    if (!name.includes('_')) continue
    changed ??= Object.assign(Object.create(null) as typeof headers, headers)
    delete changed[name]
    const plain = name.replaceAll('_', '-')
    if (!reserved.test(plain) && headers[plain] === undefined) changed[plain] = headers[name]
  }
  return changed ?? headers
}

function checkHeaders(req: IncomingMessage): void {
  const raw = req.rawHeaders
  if (raw.length > headerLinesMax * 2) throw fail('too_many_headers', { max: headerLinesMax })
  let seen: Set<string> | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    if (!single.has(name) && !name.endsWith('api-key')) continue
    seen ??= new Set()
    if (seen.has(name)) throw fail('header_duplicate', { name })
    seen.add(name)
  }
  const fault = findHostFault(req.headers.host, req.httpVersionMinor)
  if (fault !== undefined) throw fail('header_invalid', { name: 'host', why: fault })
  const { expect } = req.headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw fail('expectation_unsupported')
  const coding = req.headers['transfer-encoding']
  if (coding === undefined) return
  if (coding.toLowerCase() !== 'chunked')
    throw fail('header_invalid', { name: 'transfer-encoding', why: "only 'chunked' is accepted" })
  if (req.headers['content-length'] !== undefined)
    throw fail('header_invalid', { name: 'content-length', why: 'it cannot be combined with transfer-encoding' })
  if (req.httpVersionMinor === 0)
    throw fail('header_invalid', { name: 'transfer-encoding', why: 'HTTP/1.0 does not support it' })
}
