import type { LatencyRow } from '../../kit/index.ts'
import { eachPage, readSums } from '../pages/find.ts'
import { placesIn } from '../pages/match.ts'
import { SpanSums } from '../pages/spans.ts'
import { failuresOf } from '../pages/sums.ts'
import { findPages } from '../pages/walk.ts'
import type { QueryProgram } from '../query.ts'
import type { Span } from './summary.ts'

/**
 * How long requests took, by what they were, their model and their operation. Of everybody's most has been counted when pages were
 * bound; pages at an end of the time, loose ones and those of earlier versions are gone through row by row.
 */
export function* sumLatency(span: Span): QueryProgram<readonly LatencyRow[]> {
  const { since, until, user } = span
  const sums = new SpanSums()
  const kept = user === undefined ? yield* readSums(since, until - 1) : new Map<number, never>()
  const pages = (yield* findPages(span)).filter(({ number, firstMs, lastMs }) => {
    const known = kept.get(number)?.spans
    if (!known || firstMs < since || lastMs >= until) return true
    sums.addKept(known)
    return false
  })
  yield* eachPage(pages, page => {
    sums.addRows(page, placesIn(page, span), failuresOf(page))
    return undefined
  })
  return sums.rows()
}
