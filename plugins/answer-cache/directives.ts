import type { Head } from '../../src/plugin-api/index.ts'

/** The directives of a request's `Cache-Control`. */
export type Directives = {
  readonly mayRead: boolean
  readonly mayStore: boolean
  /** The maximum age of an answer. */
  readonly ageMaxMs: number
}

/** RFC 9111, 5.2.1. `Pragma: no-cache` counts if there is no `Cache-Control` (5.4). */
export function readDirectives({ headers }: Head): Directives {
  const sent = [headers['cache-control'] ?? headers['pragma'] ?? []].flat().join(',')
  const words = sent.split(',').map(word => word.trim().toLowerCase())
  const isNoStore = words.includes('no-store')
  const ages = words.flatMap(word => (/^max-age="?\d{1,9}"?$/.test(word) ? Number(/\d+/.exec(word)?.[0]) : []))
  const ageMaxMs = Math.min(Infinity, ...ages) * 1000
  return { mayRead: !isNoStore && !words.includes('no-cache') && ageMaxMs > 0, mayStore: !isNoStore, ageMaxMs }
}
