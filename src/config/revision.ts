import { createHash } from 'node:crypto'
import type { Plan } from '../kit/index.ts'
import { flattenPlan } from './flatten-plan.ts'

/**
 * First 12 hex digits of the SHA-256 of all that a plan says, in an order of its own: comments, layout, the order of
 * names and the way a size or a duration is written do not move it. A secret counts as being there, not for what it is.
 */
export function revisionOf(plan: Plan, secrets: ReadonlySet<string>): string {
  const facts = [...flattenPlan(plan, secrets)].map(fact => JSON.stringify(fact)).sort()
  // Patterns are tried in the order written, so the order of routes says something too.
  const order = plan.routes.map(route => `${route.method} ${route.path}`)
  return createHash('sha256')
    .update(JSON.stringify([...facts, order]))
    .digest('hex')
    .slice(0, 12)
}
