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

export function addRow(sums: Sums, batch: LogBatch, at: number, isError: boolean): void {
  sums.requests++
  if (isError) sums.errors++
  sums.inputTokens += batch.inputTokensOf(at) ?? 0
  sums.outputTokens += batch.outputTokensOf(at) ?? 0
}

/** Adds all requests except lookups, which have neither errors nor tokens. */
export function addKept(sums: Sums, kept: KeptSums & { readonly spans: KeptSpans }): void {
  sums.requests += kept.requests - lookupsIn(kept.spans)
  sums.errors += kept.errors
  sums.inputTokens += kept.inputTokens
  sums.outputTokens += kept.outputTokens
}

/** The sums of all rows of a batch. */
export function sumLogBatch(batch: LogBatch): KeptSums {
  const sums = emptySums()
  const failed = failuresOf(batch)
  let [from, to] = [Infinity, -Infinity]
  for (let at = 0; at < batch.count; at++) {
    addRow(sums, batch, at, failed[batch.whatOf(at)] as boolean)
    from = Math.min(from, batch.timeOf(at))
    to = Math.max(to, batch.timeOf(at))
  }
  const spans = new SpanSums()
  spans.addRows(batch, Array.from({ length: batch.count }).keys(), failed)
  return { ...sums, from, to, spans: spans.keep() }
}

/** The shared values that are failures: status 400 or more, or an incomplete answer. */
export function failuresOf({ whats }: LogBatch): readonly boolean[] {
  return whats.map(({ status, outcome }) => (status ?? 0) >= 400 || outcome !== 'answered')
}
