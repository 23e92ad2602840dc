import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { brand } from './brand.ts'
import { isPublicAddress } from './public-address.ts'

/** A name from an untrusted source resolves to an address that is not allowed. */
export class AddressRefused extends Error {
  readonly code = 'EADDRREFUSED'
  readonly host: string

  static {
    brand(this, 'AddressRefused')
  }

  constructor(host: string) {
    super(`${host} is not a public internet address`)
    this.host = host
  }
}

/** `dns.lookup` for all addresses of a name. */
export type Resolve = (
  name: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * The name resolution of a socket. The name is resolved once, all its addresses must be public, and the checked
 * addresses are the ones that are used: the name is never resolved again.
 */
export function guardedLookup(
  resolve: Resolve = lookup,
  isAllowed: (address: string) => boolean = isPublicAddress,
): LookupFunction {
  return (name, options, done) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error || !first) return done(error ?? new AddressRefused(name), '', 0)
      if (!addresses.every(({ address }) => isIP(address) !== 0 && isAllowed(address)))
        return done(new AddressRefused(name), '', 0)
      if (options.all === true) done(null, addresses)
      else done(null, first.address, first.family)
    })
  }
}
