const doors = /^\/console\/(?:login|setup|invite|sign-in)(?:\/|$)/

/**
 * The address after signing in: an address of the console, resolved as the browser does, including dots; otherwise the
 * console's first page.
 */
export function safeNext(next: string | null | undefined): string {
  const base = 'https://console.invalid'
  const url = next?.startsWith('/console') && URL.canParse(next, base) ? new URL(next, base) : undefined
  if (!url || url.origin !== base || !/^\/console(?:\/|$)/.test(url.pathname) || doors.test(url.pathname))
    return '/console'
  return url.pathname + url.search + url.hash
}
