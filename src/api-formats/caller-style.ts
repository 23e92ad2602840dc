import type { Head } from '../plugin-api/index.ts'
import { queryKeys } from './query-key.ts'

type Headers = Head['headers']

/** `/v1/models/NAME:generateContent`. Names may have colons too (`name:latest`), but hardly camel case after them. */
const method = /^[a-z]+[A-Z][A-Za-z]+$/
const models = '/models/'

/**
 * The API format of the client if several formats share a path, as with `GET /v1/models`. The header with the key does
 * not decide: several styles use both `Authorization` and `x-api-key` (`docs/wire.md#keys`).
 */
export function callerStyle(
  path: string,
  query: string,
  headers: Headers,
): 'anthropic' | 'google' | 'elevenlabs' | 'openai' {
  if (headers['anthropic-version'] !== undefined) return 'anthropic'
  if (headers['x-goog-api-key'] !== undefined || queryKeys(query).length > 0 || isBetaPath(path)) return 'google'
  if (headers['xi-api-key'] !== undefined) return 'elevenlabs'
  return 'openai'
}

/** The style that a path or a header proves, before a route is known; undefined if they prove none. */
export function provenStyle(
  path: string,
  headers: Headers,
): 'anthropic' | 'google' | 'cohere' | 'elevenlabs' | undefined {
  if (headers['anthropic-version'] !== undefined || /\/messages(?:\/count_tokens)?\/?$/.test(path)) return 'anthropic'
  if (headers['x-goog-api-key'] !== undefined || isBetaPath(path) || isMethodOfModel(path)) return 'google'
  if (headers['xi-api-key'] !== undefined || /\/(?:text-to-speech\/|speech-to-text\/?$)/.test(path)) return 'elevenlabs'
  return /\/rerank\/?$/.test(path) ? 'cohere' : undefined
}

/** Only the generative-language style has a `v1beta`. */
function isBetaPath(path: string): boolean {
  return /\/v1beta(?:\/|$)/.test(path)
}

function isMethodOfModel(path: string): boolean {
  const from = path.indexOf(models)
  const colon = path.lastIndexOf(':')
  return from >= 0 && colon > from + models.length && method.test(path.slice(colon + 1))
}
