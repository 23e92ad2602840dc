import { BlockList, isIP } from 'node:net'
import { parseAddressRange } from './address-range.ts'
import { plainAddress } from './network.ts'

const withPort = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/
/** Computed once for the list of a plan, which every request reads. */
const lists = new WeakMap<readonly string[], BlockList>()

/**
 * The client's address. If the connection comes from a trusted proxy, it is the last address in X-Forwarded-For that is
 * no trusted proxy: everything before it is the client's own claim. An invalid address ends the search.
 */
export function callerAddress(
  connected: string,
  forwarded: string | readonly string[] | undefined,
  trusted: readonly string[] | undefined,
): string {
  if (!trusted || trusted.length === 0 || !isTrusted(connected, trusted)) return connected
  let known = connected
  const hops = (typeof forwarded === 'string' ? [forwarded] : (forwarded ?? [])).join(',').split(',')
  for (const hop of hops.toReversed()) {
    const address = readAddress(hop)
    if (address === undefined) return known
    if (!isTrusted(address, trusted)) return address
    known = address
  }
  return known
}

/** Whether a list of addresses and CIDR blocks contains an address. */
export function isTrusted(address: string, trusted: readonly string[]): boolean {
  let list = lists.get(trusted)
  if (!list) {
    list = new BlockList()
    for (const range of trusted.map(parseAddressRange))
      if (range) list.addSubnet(range.address, range.bits, range.version)
    lists.set(trusted, list)
  }
  const plain = plainAddress(address)
  const version = isIP(plain)
  return version !== 0 && list.check(plain, version === 6 ? 'ipv6' : 'ipv4')
}

/** Some proxies append the port to the address. */
function readAddress(hop: string): string | undefined {
  const text = hop.trim()
  const [, six, four] = withPort.exec(text) ?? []
  const address = six ?? four ?? text
  return isIP(address) === 0 ? undefined : address
}
