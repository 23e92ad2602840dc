import type { Page } from './parse.ts'
import { type KeptSpans, SpanSums } from './spans.ts'

/** What rows come to. */
export type Sums = {
  requests: number
  errors: number
  inputTokens: number
  outputTokens: number
  /** How many requests took how many milliseconds, rounded up to two digits: some hundred at most, however many rows there were. */
  readonly durations: Map<number, number>
}

/** As it is kept beside a page: with when its first and its last request began by the gateway's clock. */
export type KeptSums = Omit<Sums, 'durations'> & {
  readonly from: number
  readonly to: number
  readonly durations: readonly (readonly [ms: number, requests: number])[]
  /** By what the requests were; not beside pages of earlier versions. */
  readonly spans?: KeptSpans
}

export function emptySums(): Sums {
  return { requests: 0, errors: 0, inputTokens: 0, outputTokens: 0, durations: new Map() }
}

export function addRow(sums: Sums, page: Page, at: number, isError: boolean): void {
  sums.requests++
  if (isError) sums.errors++
  sums.inputTokens += page.inputTokensOf(at) ?? 0
  sums.outputTokens += page.outputTokensOf(at) ?? 0
  const ms = roundUp(page.durationOf(at))
  sums.durations.set(ms, (sums.durations.get(ms) ?? 0) + 1)
}

export function addKept(sums: Sums, kept: KeptSums): void {
  sums.requests += kept.requests
  sums.errors += kept.errors
  sums.inputTokens += kept.inputTokens
  sums.outputTokens += kept.outputTokens
  for (const [ms, requests] of kept.durations) sums.durations.set(ms, (sums.durations.get(ms) ?? 0) + requests)
}

/** Of all rows of a page. */
export function sumPage(page: Page): KeptSums {
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
  return { ...sums, from, to, durations: [...sums.durations], spans: spans.keep() }
}

/** Of what its rows share, what is a failure: answered with 400 or more, or not wholly. */
export function failuresOf({ whats }: Page): readonly boolean[] {
  return whats.map(({ status, outcome }) => (status ?? 0) >= 400 || outcome !== 'answered')
}

function roundUp(ms: number): number {
  const step = ms < 100 ? 1 : ms < 1_000 ? 10 : ms < 10_000 ? 100 : 1_000
  return Math.floor((ms + step - 1) / step) * step
}
