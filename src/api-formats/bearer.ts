import type { Head } from '../plugin-api/index.ts'

/**
 * The key of an Authorization header: `Bearer <key>`, the scheme in any case (`docs/rules.md#keys`). Of another scheme,
 * or of a value without one, an empty key is read, so that the key check refuses it instead of calling it missing.
 */
export function bearerKey(head: Head): string | undefined {
  const value = head.headers['authorization']
  if (typeof value !== 'string') return undefined
  return /^bearer\s(.*)$/is.exec(value.trim())?.[1]?.trim() ?? ''
}

/** The value of a header that holds nothing but a key. */
export function headerKey(head: Head, name: string): string | undefined {
  const value = head.headers[name]
  return typeof value === 'string' ? value.trim() : undefined
}
