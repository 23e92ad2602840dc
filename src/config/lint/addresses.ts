import { isIP } from 'node:net'

/** True for a host that is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare.endsWith('.localhost') || bare === '::1' || bare.startsWith('127.')
}

/** True for a host in a private network: a private address, or a name without dots, such as a container's. */
export function isPrivate(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  if (isIP(bare) === 0) return !bare.includes('.') || /\.(?:internal|local|cluster\.local|svc)$/.test(bare)
  return /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|f[cd]|fe80:)/i.test(bare)
}

/** The host of a URL; undefined if it has none. */
export function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname || undefined : undefined
}
