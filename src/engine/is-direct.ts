import type { IncomingMessage } from 'node:http'
import { isTrusted } from '../util/index.ts'

/** What proxies add to a request. */
const added = /^(?:forwarded|via|x-forwarded(?:-.+)?|x-real-ip|x-client-ip|x-request-start|cdn-loop|x-envoy-.+)$/

/**
 * Whether nobody stands between a caller and us, as far as the request shows. Some proxies, nginx among them, take an interim
 * answer for the answer: who is told nothing of a proxy is told by `Connection: keep-alive`, which clients of HTTP/1.1 that
 * wait for interim answers send, and which no proxy passes on (RFC 9110 7.6.1).
 */
export function isDirect(
  { headers, httpVersionMinor, socket }: IncomingMessage,
  trusted: readonly string[] | undefined,
): boolean {
  if (httpVersionMinor === 0 || headers.connection?.toLowerCase() !== 'keep-alive') return false
  if (trusted && isTrusted(socket.remoteAddress ?? '', trusted)) return false
  return !Object.keys(headers).some(name => added.test(name))
}
