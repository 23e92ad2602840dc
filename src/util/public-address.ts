import { isIPv4, isIPv6 } from 'node:net'

/** Blocks that are not public (RFC 6890 and later additions), as first and last number of each. */
const closed4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
].map(block => {
  const [address = '', bits = ''] = block.split('/')
  const first = toNumber(address)
  return [first, first + 2 ** (32 - Number(bits)) - 1] as const
})

/**
 * Whether an IP address is public: not of this machine, of a private or link-local network, or of a cloud's metadata
 * service, and not another notation of such an address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublic4(toNumber(address))
  if (!isIPv6(address) || address.includes('%')) return false
  return isPublic6(groupsOf(address))
}

function isPublic4(address: number): boolean {
  return closed4.every(([first, last]) => address < first || address > last)
}

function isPublic6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups
  const last = (groups[6] ?? 0) * 65_536 + (groups[7] ?? 0)
  // IPv4-mapped IPv6 addresses, and NAT64 addresses.
  const isMapped = groups.slice(0, 5).every(group => group === 0) && groups[5] === 0xffff
  const isTranslated = first === 0x64 && second === 0xff9b && groups.slice(2, 6).every(group => group === 0)
  if (isMapped || isTranslated) return isPublic4(last)
  // 2000::/3 is the only allocated range; 2001::/23 (protocols), 2001:db8::/32, 2002::/16 (IPv4 inside) and 3fff::/20
  // are not public.
  if (first < 0x2000 || first > 0x3fff || first === 0x2002) return false
  if (first === 0x2001) return second >= 0x200 && second !== 0xdb8
  return first !== 0x3fff || second > 0xfff
}

function toNumber(address: string): number {
  let number = 0
  for (const part of address.split('.')) number = number * 256 + Number(part)
  return number
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const [left = '', right] = withHexTail(address).split('::')
  const head = numbersOf(left)
  const tail = right === undefined ? [] : numbersOf(right)
  return [...head, ...Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0), ...tail]
}

function numbersOf(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16))
}

/** `::ffff:127.0.0.1` as `::ffff:7f00:1`. */
function withHexTail(address: string): string {
  const at = address.lastIndexOf(':') + 1
  const tail = address.slice(at)
  if (!tail.includes('.')) return address
  const number = toNumber(tail)
  return `${address.slice(0, at)}${Math.floor(number / 65_536).toString(16)}:${(number % 65_536).toString(16)}`
}
