import { isIPv4, isIPv6 } from 'node:net'

/** The addresses in answers that may be called, in addition to the upstream's own. */
export type HostPattern = {
  readonly scheme: 'https:' | 'http:'
  /** In lower case and ASCII; an IPv6 address is without brackets. */
  readonly host: string
  /** Matches any subdomain, but not the host itself. */
  readonly isBelow: boolean
  /** The host is an IP address, which may be private. */
  readonly isAddress: boolean
  readonly port: number
}

const written = /^(?:(https?):\/\/)?(\*\.)?(\[[0-9a-f:.]+\]|[^\s/\\?#@:[\]*%]+)(?::(\d{1,5}))?$/i

/**
 * Reads `vendor.example`, `*.vendor.example`, `files.vendor.example:8443`, `10.0.0.7`, `[2001:db8::7]`; a pattern
 * without encryption begins with `http://`. Undefined for any other text, including `*`, `*.com` and names with a dot
 * at the end.
 */
export function parseHostPattern(text: string): HostPattern | undefined {
  const match = written.exec(text)
  if (!match) return undefined
  const [, scheme = 'https', star, name = '', port] = match
  const url = `${scheme.toLowerCase()}://${name}${port === undefined ? '' : `:${port}`}`
  if (!URL.canParse(url)) return undefined
  const parsed = new URL(url)
  const host = plainHost(parsed)
  const isAddress = isIPv4(host) || isIPv6(host)
  const isBelow = star !== undefined
  // An address must be in its usual form: 127.1 and 2130706433 hide one.
  if (isAddress && host !== name.toLowerCase().replace(/^\[|\]$/g, '')) return undefined
  if (isBelow && (isAddress || !host.includes('.'))) return undefined
  if (host === '' || host.endsWith('.') || host.startsWith('.') || port === '0') return undefined
  const protocol = parsed.protocol as HostPattern['scheme']
  return { scheme: protocol, host, isBelow, isAddress, port: portOf(parsed) }
}

/** Whether a pattern matches the host and port of a url. */
export function isHostOf(pattern: HostPattern, url: URL): boolean {
  if (url.protocol !== pattern.scheme || portOf(url) !== pattern.port) return false
  const host = plainHost(url)
  if (!pattern.isBelow) return host === pattern.host
  return host.length > pattern.host.length + 1 && host.endsWith(`.${pattern.host}`) && !host.startsWith('.')
}

/** The host without the brackets of IPv6. */
export function plainHost({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}
