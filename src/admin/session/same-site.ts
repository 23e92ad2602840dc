import type { IncomingMessage } from 'node:http'
import type { ServerConfig } from '../../domain/index.ts'
import { isTrusted } from '../../util/index.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'

type Headers = { readonly [name: string]: string | string[] | undefined }

/** The valid syntax of a host and port. Any other `Host` is an attack. */
const hostText = /^(?:[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/**
 * The host and port in the browser's address. A trusted proxy that changes `Host` sends the original one in
 * `X-Forwarded-Host`; if it omits the port, the port of `server.public_url` applies.
 * @throws Failure invalid unless it is one host and port
 */
export function readHost(
  { headersDistinct, socket }: Pick<IncomingMessage, 'headersDistinct' | 'socket'>,
  scheme: 'http' | 'https',
  { trustedProxies = [], publicUrl }: Pick<ServerConfig, 'trustedProxies' | 'publicUrl'>,
): string {
  const { host: hosts, 'x-forwarded-host': forwarded } = headersDistinct
  if (hosts?.length !== 1) throw refuse('invalid', 'host', {})
  const sent = parseHost(hosts[0], scheme)
  if (!isTrusted(socket.remoteAddress ?? '', trustedProxies)) return sent.host
  const last = forwarded?.at(-1)?.split(',').at(-1)?.trim()
  const forwardedHost = last === undefined || last === '' ? sent : parseHost(last, scheme)
  // If two hosts differ only in the port, uses the one with a port.
  const shown = forwardedHost.port === '' && forwardedHost.hostname === sent.hostname ? sent : forwardedHost
  const known = publicUrl === undefined ? undefined : new URL(publicUrl)
  return shown.port === '' && known?.hostname === shown.hostname ? known.host : shown.host
}

/** Omits the default port of the scheme, as browsers do. @throws Failure invalid */
function parseHost(host: string | undefined, scheme: 'http' | 'https'): URL {
  const url = `${scheme}://${host}`
  if (host === undefined || !hostText.test(host) || !URL.canParse(url)) throw refuse('invalid', 'host', {})
  return new URL(url)
}

/**
 * Whether TLS ends here, or at a proxy. A client that sends a false header only gets a cookie that its browser rejects.
 */
export function readScheme(headers: Headers, encrypted: boolean): 'http' | 'https' {
  const forwarded = headers['x-forwarded-proto']
  const first = typeof forwarded === 'string' ? forwarded.split(',', 1)[0]?.trim().toLowerCase() : undefined
  return encrypted || first === 'https' || String(headers['origin']).startsWith('https://') ? 'https' : 'http'
}

/**
 * Accepts changes only from the console's own pages. Pages of other sites cannot send JSON or this header without a
 * preflight, which is not answered; and browsers send the origin of a request.
 * @throws Failure cross_site
 */
export function requireSameSite(headers: Headers, host: string, hasBody: boolean): void {
  const type = headers['content-type']
  const json = typeof type === 'string' && /^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)
  if (headers['x-tollgate'] !== '1' || (type === undefined ? hasBody : !json)) throw fail('cross_site')
  const site = headers['sec-fetch-site']
  const { origin } = headers
  if (site === undefined && origin === undefined) throw fail('cross_site')
  if (site !== undefined && site !== 'same-origin') throw fail('cross_site')
  if (origin === undefined || hostOf(origin) === host) return
  const shown = String(origin).slice(0, 300)
  throw refuse('cross_site', 'other_host', { origin: shown, host })
}

function hostOf(origin: string | string[]): string | undefined {
  const match = /^(https?):\/\/([^/]+)$/i.exec(String(origin))
  return match?.[2]?.toLowerCase()
}
