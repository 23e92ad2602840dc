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
  /** The upstream's own: the credential may go there. */
  readonly sameOrigin: boolean
  /** The file names this very address, or the upstream is there itself: it may be a private one. */
  readonly mayBePrivate: boolean
}

export type ForeignVerdict =
  | ({ readonly kind: 'allowed' } & ForeignPlace)
  /** `why` is a part of a sentence, and quotes nothing of the address but its origin. */
  | { readonly kind: 'refused'; readonly why: string }

/** Signed links are long; longer than this is none. */
const urlCharsMax = 16_384

/**
 * Whether an address out of an answer may be called: the upstream's own origin, or one that the file names. A relative one is the
 * upstream's own. What its name resolves to is classified when it is dialled (`guardedLookup`).
 */
export function checkForeign(text: string, { own, hosts }: ForeignRule): ForeignVerdict {
  if (text.length > urlCharsMax) return refused(`an address of more than ${urlCharsMax} characters`)
  // A reader of addresses passes over these, or takes them for something else.
  if (/[\p{Cc} \\]/u.test(text)) return refused('an address with characters that none has')
  if (!URL.canParse(text, own.origin)) return refused('what is no address')
  const url = new URL(text, own.origin)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused(`an address of ${url.protocol}`)
  if (url.username !== '' || url.password !== '') return refused('an address with a user in it')
  url.hash = ''
  if (url.origin === own.origin) return { kind: 'allowed', url, sameOrigin: true, mayBePrivate: true }
  if (url.hostname.endsWith('.')) return refused(`${url.origin}, a host with a dot at its end`)
  const pattern = hosts.find(one => isHostOf(one, url))
  if (!pattern) return refused(`${url.origin}, which is neither the upstream's own nor among its hosts`)
  const mayBePrivate = pattern.isAddress || url.hostname === own.hostname
  return { kind: 'allowed', url, sameOrigin: false, mayBePrivate }
}

function refused(why: string): ForeignVerdict {
  return { kind: 'refused', why }
}

/**
 * How a place that was allowed is dialled: by its name, guarded; an address of the file as it is, and the
 * upstream's own place as the upstream.
 * @throws AddressRefused for an address that no file names, should it have come so far
 */
export function lookupOf({ url, mayBePrivate }: ForeignPlace): LookupFunction | undefined {
  if (mayBePrivate) return undefined
  // Of an address nothing is looked up.
  if (isIP(plainHost(url)) !== 0) throw new AddressRefused(url.host)
  return guardedLookup()
}
