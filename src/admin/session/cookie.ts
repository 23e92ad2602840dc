type Scheme = 'http' | 'https'

// A cookie named `__Host-…` is taken by browsers over TLS only, and from this host only: no other host can plant one.
const secure = '__Host-'
/** The cookies of a session, of a user on the way to an issuer, and of the issuer of a signed-in user. */
const names = { session: 'tollgate', login: 'tollgate-trip', issuer: 'tollgate-issuer' } as const

type CookieName = keyof typeof names

/** A token that a request brings; over TLS only the cookie that came over TLS counts. */
export function readCookie(
  header: string | undefined,
  scheme: Scheme,
  cookie: CookieName = 'session',
): string | undefined {
  const name = names[cookie]
  const found = new Map<string, string>()
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=')
    const key = pair.slice(0, at).trim()
    if (at > 0 && !found.has(key)) found.set(key, pair.slice(at + 1).trim())
  }
  return found.get(secure + name) ?? (scheme === 'http' ? found.get(name) : undefined)
}

/** `Set-Cookie` of a token; null takes the cookie away. */
export function writeCookie(token: string | null, scheme: Scheme, cookie: CookieName = 'session'): string {
  const name = `${scheme === 'https' ? secure : ''}${names[cookie]}`
  const flags = `Path=/; HttpOnly; SameSite=Strict${scheme === 'https' ? '; Secure' : ''}`
  return `${name}=${token ?? ''}; ${flags}${token === null ? '; Max-Age=0' : ''}`
}
