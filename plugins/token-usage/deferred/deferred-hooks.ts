import type { Hooks, Host } from '../../../src/plugin-api/index.ts'
import type { UsageFacet } from '../schema.ts'
import { followWork, resumeWork } from './deferred-work.ts'
import {
  admitBatch,
  type BatchTools,
  checkBatch,
  renameBatch,
  sendBatch,
  settleBatch,
  takeBatch,
} from './batch/batch-work.ts'

/**
 * Adds the jobs for deferred work and the creation of batches, if the configuration has a route for them. Passes other
 * requests to `own`.
 */
export function withDeferred(
  own: Hooks<UsageFacet>,
  tools: BatchTools,
  { routes }: Pick<Host['plan'], 'routes'>,
): Hooks<UsageFacet> {
  if (!routes.some(({ deferred }) => deferred)) return own
  return {
    ...own,
    onTarget(context, target, facet) {
      const batch = context.route.deferred?.batch
      return batch ? checkBatch(tools, context, target, batch) : own.onTarget?.(context, target, facet)
    },
    onAdmit(context, target, facet) {
      if (!context.route.deferred?.batch) return own.onAdmit?.(context, target, facet)
      return admitBatch(tools, context, target).then(() => undefined)
    },
    onForward(context, out, facet, target) {
      return context.route.deferred?.batch
        ? renameBatch(context, out, target)
        : (own.onForward?.(context, out, facet, target) ?? out)
    },
    onResume: context => resumeWork(tools, context),
    onAsk(context, out, facet, target) {
      if (!context.route.deferred) return undefined
      return followWork(tools, context, { target, facet }) ?? sendBatch(tools, context, { out, target })
    },
    onReply(context, reply, facet, target) {
      if (context.route.deferred?.batch) return takeBatch(tools, context, reply, target)
      return own.onReply?.(context, reply, facet, target) ?? reply
    },
    onSettle(context, outcome, facet) {
      return context.route.deferred?.batch
        ? settleBatch(tools, context, outcome)
        : own.onSettle?.(context, outcome, facet)
    },
  }
}
