import type { Hooks } from '../../../src/plugin-api/index.ts'
import type { UsageFacet } from '../schema.ts'
import { followWork, resumeWork } from './deferred-work.ts'
import {
  admitBatch,
  batchOf,
  type BatchTools,
  checkBatch,
  renameBatch,
  sendBatch,
  settleBatch,
  takeBatch,
} from './batch/batch-work.ts'

/** Adds the jobs that follow deferred work, and the creation of batches. Other requests are left to `own`. */
export function withDeferred(own: Hooks<UsageFacet>, tools: BatchTools): Hooks<UsageFacet> {
  return {
    ...own,
    onTarget(context, target, facet) {
      const batch = batchOf(context)
      return batch ? checkBatch(tools, context, target, batch) : own.onTarget?.(context, target, facet)
    },
    onAdmit(context, target, facet) {
      if (!batchOf(context)) return own.onAdmit?.(context, target, facet)
      return admitBatch(tools, context, target).then(() => undefined)
    },
    onForward(context, out, facet, target) {
      return batchOf(context)
        ? renameBatch(context, out, target)
        : (own.onForward?.(context, out, facet, target) ?? out)
    },
    onResume: context => resumeWork(tools, context),
    onAsk(context, out, facet, target) {
      return followWork(tools, context, { target, facet }) ?? sendBatch(tools, context, { out, target })
    },
    onReply(context, reply, facet, target) {
      if (batchOf(context)) return takeBatch(tools, context, reply, target)
      return own.onReply?.(context, reply, facet, target) ?? reply
    },
    onSettle(context, outcome, facet) {
      return batchOf(context) ? settleBatch(tools, context, outcome) : own.onSettle?.(context, outcome, facet)
    },
  }
}
