import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'

type Headers = { readonly [name: string]: string | string[] | undefined }

/** What a host and port look like; anything else in `Host` is somebody's trick. */
const hostText = /^(?:[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** @throws Failure invalid when it is not one host and port */
export function readHost(hosts: readonly string[] | undefined): string {
  const [host] = hosts ?? []
  if (host === undefined || hosts?.length !== 1 || !hostText.test(host)) throw refuse('invalid', 'host', {})
  return host.toLowerCase()
}

/** Whether TLS ends here, or at a proxy in front. Who lies about it only gets a cookie that the browser refuses. */
export function readScheme(headers: Headers, encrypted: boolean): 'http' | 'https' {
  const forwarded = headers['x-forwarded-proto']
  const first = typeof forwarded === 'string' ? forwarded.split(',', 1)[0]?.trim().toLowerCase() : undefined
  return encrypted || first === 'https' || String(headers['origin']).startsWith('https://') ? 'https' : 'http'
}

/**
 * Takes changes from the console's own pages only. A page elsewhere cannot send JSON or this header without asking first,
 * which nobody answers; and browsers tell where a request comes from.
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
  if (origin !== undefined && hostOf(origin) !== host) throw fail('cross_site')
}

function hostOf(origin: string | string[]): string | undefined {
  const match = /^(https?):\/\/([^/]+)$/i.exec(String(origin))
  return match?.[2]?.toLowerCase()
}
