import {
  type Body,
  type Json,
  type OperationTraits,
  readField,
  type RequestContext,
} from '../../src/plugin-api/index.ts'
import { isObject } from './is-object.ts'

const hourSeconds = 3_600

/** Hours for which a request keeps its tokens, by its fields; 0 if it keeps none. */
export function hoursAsked(body: Body, traits: OperationTraits | undefined, now: number): number {
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

/** The most token-hours of a request that changes a stored object: its tokens are known from the object. */
export function storageAsked(body: Body, { route, startedAt }: RequestContext, before: Json): number {
  const usage = isObject(before) ? before['usageMetadata'] : undefined
  const tokens = isObject(usage) ? usage['totalTokenCount'] : undefined
  return typeof tokens === 'number' ? Math.ceil(tokens * hoursAsked(body, route.traits, startedAt)) : 0
}
