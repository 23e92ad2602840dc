const everywhere = {
  'content-security-policy':
    "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; img-src 'self' data: blob:; media-src 'self' blob:",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
} as const

const uncached = { ...everywhere, 'cache-control': 'no-store' } as const

/** What every answer of the console says to browsers: nothing from elsewhere, no frames, no guessing of types. */
export function securityHeaders(url: string): { readonly [name: string]: string } {
  return url.startsWith('/api/') ? uncached : everywhere
}
