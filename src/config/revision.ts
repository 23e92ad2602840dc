import { createHash } from 'node:crypto'
import type { ConfigSettings } from '../domain/index.ts'
import type { Settings } from './build.ts'

/**
 * First 12 hex digits of the SHA-256 of all settings in a fixed order: comments, layout, the order of names and the
 * spelling of sizes and durations do not change it. A secret counts as present, regardless of its value.
 */
export function revisionOf(facts: ConfigSettings, { routes }: Pick<Settings, 'routes'>): string {
  const sorted = Object.entries(facts)
    .map(fact => JSON.stringify(fact))
    .sort()
  // Patterns are tried in the order written, so the order of routes has a meaning too.
  const order = routes.map(({ match }) => match)
  return createHash('sha256')
    .update(JSON.stringify([...sorted, order]))
    .digest('hex')
    .slice(0, 12)
}
