import type { LatencyRow } from '../../domain/index.ts'
import { eachLogBatch, readSums } from '../log-batches/find.ts'
import { placesIn } from '../log-batches/match.ts'
import { SpanSums } from '../log-batches/spans.ts'
import { failuresOf } from '../log-batches/sums.ts'
import { findLogBatches } from '../log-batches/walk.ts'
import type { QueryProgram } from '../query.ts'
import type { Span } from './summary.ts'

/**
 * The latency of requests by kind, model and operation. For all users, most requests were counted when their batches
 * were compacted; batches at an end of the range, uncompacted rows and batches of earlier versions are read row by row.
 */
export function* sumLatency(span: Span): QueryProgram<readonly LatencyRow[]> {
  const { since, until, user } = span
  const sums = new SpanSums()
  const kept = user === undefined ? yield* readSums(since, until - 1) : new Map<number, never>()
  const batches = (yield* findLogBatches(span)).filter(({ number, firstMs, lastMs }) => {
    const known = kept.get(number)?.spans
    if (!known || firstMs < since || lastMs >= until) return true
    sums.addKept(known)
    return false
  })
  yield* eachLogBatch(batches, batch => {
    sums.addRows(batch, placesIn(batch, span), failuresOf(batch))
    return undefined
  })
  return sums.rows()
}
