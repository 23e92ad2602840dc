import { createHash } from 'node:crypto'
import type { ConfigSettings } from '../domain/index.ts'
import type { Settings } from './build.ts'

/**
 * First 12 hex digits of the SHA-256 of all that settings say, in an order of its own: comments, layout, the order of
 * names and the way a size or a duration is written do not move it. A secret counts as being there, not for what it is.
 */
export function revisionOf(facts: ConfigSettings, { routes }: Pick<Settings, 'routes'>): string {
  const sorted = Object.entries(facts)
    .map(fact => JSON.stringify(fact))
    .sort()
  // Patterns are tried in the order written, so the order of routes says something too.
  const order = routes.map(({ match }) => match)
  return createHash('sha256')
    .update(JSON.stringify([...sorted, order]))
    .digest('hex')
    .slice(0, 12)
}
