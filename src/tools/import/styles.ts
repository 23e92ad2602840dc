import type { CredentialShape } from './secret-book.ts'

/** Whose wire style an upstream speaks: callers are passed on in it. */
export type Style = 'openai' | 'anthropic' | 'google' | 'cohere' | 'elevenlabs'

/** How a key is carried in a style. `api-key` is what one maker of clouds has instead. */
export function credentialOf(style: Style, isCloud = false): CredentialShape {
  if (style === 'anthropic') return { header: 'x-api-key', before: '' }
  if (style === 'google') return { header: 'x-goog-api-key', before: '' }
  if (style === 'elevenlabs') return { header: 'xi-api-key', before: '' }
  if (isCloud) return { header: 'api-key', before: '' }
  return { header: 'authorization', before: 'Bearer ' }
}
