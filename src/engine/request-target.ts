import type { IncomingMessage } from 'node:http'

const slash = 47
/** RFC 9112 3.2.2. A fragment is no part of a request's target. */
const absolute = /^https?:\/\/([^/?#]*)((?:[/?][^#]*)?)$/i
/** A name or an address, and a port: what a Host may contain (RFC 9112 3.2) unambiguously. */
const authority = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/**
 * Turns a target in absolute form into one of origin form. Its host replaces the Host header, which is ignored then
 * (RFC 9112 3.2.2). Any other target stays unchanged.
 */
export function takeOriginForm(req: IncomingMessage): void {
  const { url = '' } = req
  if (url.charCodeAt(0) === slash) return
  const match = absolute.exec(url)
  if (!match) return
  const [, host = '', rest = ''] = match
  req.url = rest.startsWith('/') ? rest : `/${rest}`
  setHost(req, host)
}

/** If there are several Host headers, all of them stay and are refused. */
function setHost(req: IncomingMessage, host: string): void {
  const { rawHeaders } = req
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'host') continue
    // An invalid one is refused, whatever the target is.
    if (findHostFault(rawHeaders[i + 1], req.httpVersionMinor) !== undefined) return
    rawHeaders[i + 1] = host
    hosts++
  }
  if (hosts === 0 && req.httpVersionMinor > 0) return
  if (hosts === 0) rawHeaders.push('Host', host)
  req.headers.host = host
}

/** The error of a request's Host; undefined if there is none (RFC 9112 3.2). */
export function findHostFault(host: string | undefined, httpVersionMinor: number | undefined): string | undefined {
  if (host === undefined) return httpVersionMinor === 0 ? undefined : 'HTTP/1.1 requires it'
  if (host === '') return 'it is empty'
  return authority.test(host) ? undefined : 'it must be a host and an optional port'
}

/** Whether a request names its host once and validly. */
export function hasSoundHost({ headers, httpVersionMinor, rawHeaders }: IncomingMessage): boolean {
  if (findHostFault(headers.host, httpVersionMinor) !== undefined) return false
  return rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length <= 1
}
