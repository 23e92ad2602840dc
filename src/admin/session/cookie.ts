// A cookie named `__Host-…` is taken by browsers over TLS only, and from this host only: nobody else can plant one.
const secureName = '__Host-tollgate'
const plainName = 'tollgate'

/** The session's token that a request brings; over TLS only the cookie that came over TLS counts. */
export function readCookie(header: string | undefined, scheme: 'http' | 'https'): string | undefined {
  const found = new Map<string, string>()
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at).trim()
    if (at > 0 && !found.has(name)) found.set(name, pair.slice(at + 1).trim())
  }
  return found.get(secureName) ?? (scheme === 'http' ? found.get(plainName) : undefined)
}

/** `Set-Cookie` of a session's token; null takes the cookie away. */
export function writeCookie(token: string | null, scheme: 'http' | 'https'): string {
  const name = scheme === 'https' ? secureName : plainName
  const flags = `Path=/; HttpOnly; SameSite=Strict${scheme === 'https' ? '; Secure' : ''}`
  return `${name}=${token ?? ''}; ${flags}${token === null ? '; Max-Age=0' : ''}`
}
