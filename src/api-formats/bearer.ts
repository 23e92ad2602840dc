import type { Head } from '../plugin-api/index.ts'

/**
 * The key of an Authorization header: `Bearer <key>`, the scheme in any case (`docs/rules.md#keys`). For another
 * scheme, or a value without one, returns an empty key, so that the key check refuses it instead of reporting a missing
 * key.
 */
export function bearerKey(head: Head): string | undefined {
  const value = head.headers['authorization']
  if (typeof value !== 'string') return undefined
  return /^bearer\s(.*)$/is.exec(value.trim())?.[1]?.trim() ?? ''
}

/** The value of a header that contains only a key. */
export function headerKey(head: Head, name: string): string | undefined {
  const value = head.headers[name]
  return typeof value === 'string' ? value.trim() : undefined
}
