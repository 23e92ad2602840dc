import {
  type Body,
  isObject,
  type Json,
  type OperationTraits,
  readField,
  type RequestContext,
} from '../../src/plugin-api/index.ts'

const hourSeconds = 3_600

/**
 * The hours for which a request stores its tokens, from its fields; 0 if it stores none. Without `now` a date counts
 * as the usual time.
 */
export function requestedHours(body: Body, traits: OperationTraits | undefined, now = Number.NaN): number {
  const { storesTokens } = traits ?? {}
  if (!storesTokens) return 0
  const { seconds, until, usualSeconds } = storesTokens
  const text = readField(body, seconds)
  const span =
    typeof text === 'string' && /^\d{1,12}(?:\.\d{1,9})?s$/.test(text) ? Number(text.slice(0, -1)) : undefined
  const end = readField(body, until)
  const rest = typeof end === 'string' ? (Date.parse(end) - now) / 1_000 : Number.NaN
  return Math.max(0, span ?? (Number.isFinite(rest) ? rest : usualSeconds)) / hourSeconds
}

/** The maximum token-hours of a request; if it changes a stored object, the object shows the number of tokens. */
export function requestedStorage(
  body: Body,
  { route, startedAt }: RequestContext,
  before: Json,
  input: number,
): number {
  const usage = isObject(before) ? before['usageMetadata'] : undefined
  const tokens = isObject(usage) ? usage['totalTokenCount'] : undefined
  return Math.ceil((typeof tokens === 'number' ? tokens : input) * requestedHours(body, route.traits, startedAt))
}
