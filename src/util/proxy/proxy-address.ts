/** A proxy that connections to other servers go through. */
export type ProxyAddress = {
  readonly kind: 'http' | 'https' | 'socks5'
  readonly host: string
  readonly port: number
  readonly user?: string
  readonly password?: string
  /** For people: without its credentials. */
  readonly shown: string
}

const kinds = { 'http:': 'http', 'https:': 'https', 'socks5:': 'socks5', 'socks5h:': 'socks5' } as const
const ports = { http: 80, https: 443, socks5: 1080 } as const

/** Parses `http://user:password@proxy.example:3128`; undefined for an invalid proxy address. */
export function parseProxy(text: string): ProxyAddress | undefined {
  if (!/^(?:https?|socks5h?):\/\//i.test(text) || !URL.canParse(text)) return undefined
  const { protocol, hostname, port, username, password, pathname, search } = new URL(text)
  const kind = kinds[protocol as keyof typeof kinds]
  if (hostname === '' || !['', '/'].includes(pathname) || search !== '') return undefined
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const at = Number(port || ports[kind])
  const decoded = decodeAll([username, password])
  if (!decoded) return undefined
  const [user = '', secret = ''] = decoded
  if (!canBeSent(kind, user, secret)) return undefined
  return {
    kind,
    host,
    port: at,
    ...((user !== '' || secret !== '') && { user, password: secret }),
    shown: `${protocol}//${hostname}:${at}`,
  }
}

/** SOCKS5 has one byte for a length. In `Basic`, the first colon ends the user name. */
function canBeSent(kind: ProxyAddress['kind'], user: string, password: string): boolean {
  return kind === 'socks5' ? [user, password].every(text => Buffer.byteLength(text) <= 255) : !user.includes(':')
}

function decodeAll(texts: readonly string[]): readonly string[] | undefined {
  try {
    return texts.map(decodeURIComponent)
  } catch {
    return undefined
  }
}
