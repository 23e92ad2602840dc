type Scheme = 'http' | 'https'

// Browsers accept a cookie named `__Host-…` only over TLS and only from this host, so that no other host can set one.
const secure = '__Host-'
/** The cookies of a session, of a user during a sign-in at an issuer, and of the issuer of a signed-in user. */
const names = { session: 'tollgate', login: 'tollgate-trip', issuer: 'tollgate-issuer' } as const

type CookieName = keyof typeof names

/** The token of a request. Over TLS, only a cookie that was set over TLS counts. */
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

/** `Set-Cookie` of a token; null removes the cookie. */
export function writeCookie(token: string | null, scheme: Scheme, cookie: CookieName = 'session'): string {
  const name = `${scheme === 'https' ? secure : ''}${names[cookie]}`
  const flags = `Path=/; HttpOnly; SameSite=Strict${scheme === 'https' ? '; Secure' : ''}`
  return `${name}=${token ?? ''}; ${flags}${token === null ? '; Max-Age=0' : ''}`
}
