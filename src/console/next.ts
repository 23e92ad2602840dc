const doors = /^\/console\/(?:login|setup|invite|sign-in)(?:\/|$)/

/**
 * Where to go after signing in: an address of the console itself, as the browser will resolve it, dots included; else
 * its first page.
 */
export function safeNext(next: string | null | undefined): string {
  const base = 'https://console.invalid'
  const url = next?.startsWith('/console') && URL.canParse(next, base) ? new URL(next, base) : undefined
  if (!url || url.origin !== base || !/^\/console(?:\/|$)/.test(url.pathname) || doors.test(url.pathname))
    return '/console'
  return url.pathname + url.search + url.hash
}
