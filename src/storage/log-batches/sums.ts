import type { LogBatch } from './parse.ts'
import { type KeptSpans, lookupsIn, SpanSums } from './spans.ts'

/** The sums of rows. */
export type Sums = {
  requests: number
  errors: number
  inputTokens: number
  outputTokens: number
}

/** As stored with a batch: with the start times of its first and its last request by the gateway's clock. */
export type KeptSums = Sums & {
  readonly from: number
  readonly to: number
  /** By kind of request; absent in batches of earlier versions. */
  readonly spans?: KeptSpans
}

export function emptySums(): Sums {
  return { requests: 0, errors: 0, inputTokens: 0, outputTokens: 0 }
}

export function addRow(sums: Sums, page: LogBatch, at: number, isError: boolean): void {
  sums.requests++
  if (isError) sums.errors++
  sums.inputTokens += page.inputTokensOf(at) ?? 0
  sums.outputTokens += page.outputTokensOf(at) ?? 0
}

/** Adds all requests except lookups, which have neither errors nor tokens. */
export function addKept(sums: Sums, kept: KeptSums & { readonly spans: KeptSpans }): void {
  sums.requests += kept.requests - lookupsIn(kept.spans)
  sums.errors += kept.errors
  sums.inputTokens += kept.inputTokens
  sums.outputTokens += kept.outputTokens
}

/** The sums of all rows of a page. */
export function sumLogBatch(page: LogBatch): KeptSums {
  const sums = emptySums()
  const failed = failuresOf(page)
  let [from, to] = [Infinity, -Infinity]
  for (let at = 0; at < page.count; at++) {
    addRow(sums, page, at, failed[page.whatOf(at)] as boolean)
    from = Math.min(from, page.timeOf(at))
    to = Math.max(to, page.timeOf(at))
  }
  const spans = new SpanSums()
  spans.addRows(page, Array.from({ length: page.count }).keys(), failed)
  return { ...sums, from, to, spans: spans.keep() }
}

/** The shared values that are failures: status 400 or more, or an incomplete answer. */
export function failuresOf({ whats }: LogBatch): readonly boolean[] {
  return whats.map(({ status, outcome }) => (status ?? 0) >= 400 || outcome !== 'answered')
}
