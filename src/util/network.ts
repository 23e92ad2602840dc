import { isIPv6 } from 'node:net'

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** An IPv4 address that arrived over an IPv6 socket in IPv4 form; any other address unchanged. */
export function plainAddress(remote: string): string {
  return mapped.exec(remote)?.[1] ?? remote
}

/** The network to count failures for: an IPv4 address, or the /64 from which an IPv6 client can pick addresses. */
export function networkOf(remote: string): string {
  const address = plainAddress(remote)
  if (!isIPv6(address)) return address
  const [left = '', right] = address.split('::')
  const head = left === '' ? [] : left.split(':')
  const tail = right === undefined || right === '' ? [] : right.split(':')
  const zeros = right === undefined ? 0 : Math.max(0, 8 - head.length - tail.length)
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...tail]
  return `${groups
    .slice(0, 4)
    .map(group => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')}::/64`
}
