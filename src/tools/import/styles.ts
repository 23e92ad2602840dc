import type { CredentialShape } from './secret-book.ts'

/** The API format of an upstream: requests are forwarded in it. */
export type Style = 'openai' | 'anthropic' | 'google' | 'cohere' | 'elevenlabs'

/** The credential header of a style. One maker of clouds uses `api-key` instead. */
export function credentialOf(style: Style, isCloud = false): CredentialShape {
  if (style === 'anthropic') return { header: 'x-api-key', before: '' }
  if (style === 'google') return { header: 'x-goog-api-key', before: '' }
  if (style === 'elevenlabs') return { header: 'xi-api-key', before: '' }
  if (isCloud) return { header: 'api-key', before: '' }
  return { header: 'authorization', before: 'Bearer ' }
}
