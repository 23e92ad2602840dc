import { BlockList, isIP } from 'node:net'
import { parseAddressRange, plainAddress } from '../../src/plugin-api/index.ts'

/** Addresses and CIDR blocks as one list. Leaves out invalid entries, so that they admit no client. */
export function readAddressList(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const range = parseAddressRange(plainAddress(entry.trim()))
    if (range) list.addSubnet(range.address, range.bits, range.version)
  }
  return list
}

/** Whether the list contains the address. */
export function listHas(list: BlockList, remote: string): boolean {
  const address = plainAddress(remote)
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4')
}
