import type { Json } from '../../../src/plugin-api/index.ts'
import { asList, asObject, type CacheHint, type JsonObject, type Loss } from '../neutral/index.ts'

/** The maximum number of cache hints in a request. */
const hintsMax = 4

export function writeCache(cache: CacheHint | undefined): { readonly cache_control?: JsonObject } {
  if (!cache) return {}
  return { cache_control: cache.ttl === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' } }
}

/** The vendor refuses a request with more hints. The last ones are kept, because they cover the longest prefixes. */
export function limitCacheHints(body: JsonObject, losses: Loss[]): JsonObject {
  let rest = countHints(body) - hintsMax
  if (rest <= 0) return body
  losses.push({ feature: 'cache_hint' })
  const strip = (value: Json): Json => {
    if (Array.isArray(value)) return asList(value).map(strip)
    const own = asObject(value)
    if (!own) return value
    const isStripped = own['cache_control'] !== undefined && rest-- > 0
    const entries = Object.entries(own).filter(([name]) => !(isStripped && name === 'cache_control'))
    return Object.fromEntries(entries.map(([name, one]) => [name, carriers.has(name) ? strip(one) : one]))
  }
  return asObject(strip(body)) ?? body
}

/** Members that may contain hints. Clients' arguments and schemas may not. */
const carriers: ReadonlySet<string> = new Set(['tools', 'system', 'messages', 'content'])

function countHints(value: Json): number {
  if (Array.isArray(value)) return asList(value).reduce<number>((sum, one) => sum + countHints(one), 0)
  const own = asObject(value)
  if (!own) return 0
  const below = Object.entries(own).map(([name, one]) => (carriers.has(name) ? countHints(one) : 0))
  return below.reduce((sum, one) => sum + one, own['cache_control'] === undefined ? 0 : 1)
}
