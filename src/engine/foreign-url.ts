import { isIP, type LookupFunction } from 'node:net'
import { AddressRefused, guardedLookup, type HostPattern, isHostOf, plainHost } from '../util/index.ts'

export { AddressRefused, guardedLookup, type Resolve } from '../util/index.ts'

/** Which addresses in an upstream's answers may be called. */
export type ForeignRule = {
  /** The upstream's own address, dialable: always allowed, with its credential. */
  readonly own: URL
  /** The other allowed addresses. */
  readonly hosts: readonly HostPattern[]
}

export type ForeignPlace = {
  readonly url: URL
  /** The upstream's own: the credential may be sent there. */
  readonly sameOrigin: boolean
  /** The file names exactly this address, or the upstream itself is there: it may be private. */
  readonly mayBePrivate: boolean
}

export type ForeignVerdict =
  | ({ readonly kind: 'allowed' } & ForeignPlace)
  /** `why` is a clause of a sentence, and quotes only the origin of the address. */
  | { readonly kind: 'refused'; readonly why: string }

/** Signed links are long, but no longer. */
const urlCharsMax = 16_384

/**
 * Whether an address from an answer may be called: the upstream's own origin, or one that the file names. A relative
 * one is the upstream's own. The IP address is checked when it is dialled (`guardedLookup`).
 */
export function checkForeign(text: string, { own, hosts }: ForeignRule): ForeignVerdict {
  if (text.length > urlCharsMax) return refused(`a URL of more than ${urlCharsMax} characters`)
  // URL parsers drop or reinterpret these.
  if (/[\p{Cc} \\]/u.test(text)) return refused('a URL with invalid characters')
  if (!URL.canParse(text, own.origin)) return refused('an invalid URL')
  const url = new URL(text, own.origin)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused(`a URL of ${url.protocol}`)
  if (url.username !== '' || url.password !== '') return refused('a URL with credentials')
  url.hash = ''
  if (url.origin === own.origin) return { kind: 'allowed', url, sameOrigin: true, mayBePrivate: true }
  if (url.hostname.endsWith('.')) return refused(`${url.origin}, a host with a trailing dot`)
  const pattern = hosts.find(one => isHostOf(one, url))
  if (!pattern) return refused(`${url.origin}, which is neither the upstream's host nor listed in its hosts`)
  const mayBePrivate = pattern.isAddress || url.hostname === own.hostname
  return { kind: 'allowed', url, sameOrigin: false, mayBePrivate }
}

function refused(why: string): ForeignVerdict {
  return { kind: 'refused', why }
}

/**
 * How an allowed address is dialled: by its name, guarded; an address of the file as it is, and the upstream's own as
 * the upstream.
 * @throws AddressRefused for an address that the file does not name
 */
export function lookupOf({ url, mayBePrivate }: ForeignPlace): LookupFunction | undefined {
  if (mayBePrivate) return undefined
  // An IP address is not looked up.
  if (isIP(plainHost(url)) !== 0) throw new AddressRefused(url.host)
  return guardedLookup()
}
