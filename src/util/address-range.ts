import { isIP } from 'node:net'

/** An address with the number of significant bits. */
export type AddressRange = { readonly address: string; readonly bits: number; readonly version: 'ipv4' | 'ipv6' }

/** Reads `192.0.2.7`, `192.0.2.0/24` or `2001:db8::/32`; undefined when it is neither an address nor a CIDR block. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [address = '', prefix, more] = text.trim().split('/')
  const version = isIP(address)
  if (version === 0 || more !== undefined) return undefined
  const bitsMax = version === 6 ? 128 : 32
  if (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) return undefined
  const bits = prefix === undefined ? bitsMax : Number(prefix)
  return bits > bitsMax ? undefined : { address, bits, version: version === 6 ? 'ipv6' : 'ipv4' }
}
