import { kindOfRow, type LatencyRow, type RowKind } from '../../domain/index.ts'
import type { LogBatch } from './parse.ts'

/** Steps of durations: the end of each is a tenth later than that of the one before. */
const growth = 1.1

/** Requests by steps: `[step, requests, step, requests …]`, as stored. */
type Steps = readonly number[]

/** As stored with a batch: the latency of its requests, by kind. */
export type KeptSpans = readonly (readonly [
  kind: RowKind,
  model: string | null,
  operation: string,
  errors: number,
  whole: Steps,
  firstByte: Steps,
])[]

type Sum = Pick<LatencyRow, 'kind' | 'model' | 'operation'> & {
  errors: number
  readonly whole: Map<number, number>
  readonly firstByte: Map<number, number>
}

/** How many of the requests of a batch were lookups. */
export function lookupsIn(kept: KeptSpans): number {
  const ofLookups = kept.filter(([kind]) => kind === 'lookup')
  return ofLookups.reduce((sum, [, , , , whole]) => sum + requestsIn(whole), 0)
}

/** The number of requests in some steps. */
export function requestsIn(kept: Steps): number {
  let requests = 0
  for (let i = 1; i < kept.length; i += 2) requests += kept[i] as number
  return requests
}

/**
 * The latency of requests, by model, operation and kind: at most a hundred numbers each, however many requests there
 * were.
 */
export class SpanSums {
  readonly #sums = new Map<string, Sum>()

  /** Adds rows of a batch by their positions. `failed`: the shared values that are failures. */
  addRows(batch: LogBatch, places: Iterable<number>, failed: readonly boolean[]): void {
    const sums = batch.whats.map(what => this.#sumOf(kindOfRow(what), what.model, what.operation))
    for (const at of places) {
      const what = batch.whatOf(at)
      const sum = sums[what] as Sum
      if (failed[what] === true) sum.errors++
      count(sum.whole, stepOf(batch.durationOf(at)), 1)
      const firstByte = batch.marksOf(at)?.firstByte ?? null
      if (firstByte !== null) count(sum.firstByte, stepOf(firstByte), 1)
    }
  }

  addKept(kept: KeptSpans): void {
    for (const [kind, model, operation, errors, whole, firstByte] of kept) {
      const sum = this.#sumOf(kind, model, operation)
      sum.errors += errors
      addSteps(sum.whole, whole)
      addSteps(sum.firstByte, firstByte)
    }
  }

  keep(): KeptSpans {
    return this.#used().map(({ kind, model, operation, errors, whole, firstByte }) => [
      kind,
      model,
      operation,
      errors,
      [...whole].flat(),
      [...firstByte].flat(),
    ])
  }

  /** Rows with the most requests first. */
  rows(): readonly LatencyRow[] {
    const rows = this.#used().map(({ kind, model, operation, errors, whole, firstByte }) => ({
      kind,
      model,
      operation,
      requests: requestsOf(whole),
      errors,
      p50Ms: quantileOf(whole, 0.5),
      p95Ms: quantileOf(whole, 0.95),
      firstByteP50Ms: quantileOf(firstByte, 0.5),
      firstByteP95Ms: quantileOf(firstByte, 0.95),
    }))
    return rows.sort((a, b) => b.requests - a.requests)
  }

  /** The 50th and 95th percentile of all requests except lookups; null if there are none. */
  quantiles(): { readonly p50Ms: number | null; readonly p95Ms: number | null } {
    const all = new Map<number, number>()
    for (const { kind, whole } of this.#used())
      if (kind !== 'lookup') for (const [step, requests] of whole) count(all, step, requests)
    return { p50Ms: quantileOf(all, 0.5), p95Ms: quantileOf(all, 0.95) }
  }

  #used(): readonly Sum[] {
    return [...this.#sums.values()].filter(({ whole }) => whole.size > 0)
  }

  #sumOf(kind: RowKind, model: string | null, operation: string): Sum {
    const name = JSON.stringify([kind, model, operation])
    let sum = this.#sums.get(name)
    if (!sum)
      this.#sums.set(name, (sum = { kind, model, operation, errors: 0, whole: new Map(), firstByte: new Map() }))
    return sum
  }
}

function stepOf(ms: number): number {
  return ms < 1 ? 0 : Math.ceil(Math.log(ms) / Math.log(growth)) + 1
}

/** The duration at which a step ends. */
function msOf(step: number): number {
  return step === 0 ? 0 : Math.round(growth ** (step - 1))
}

function count(steps: Map<number, number>, step: number, requests: number): void {
  steps.set(step, (steps.get(step) ?? 0) + requests)
}

function addSteps(into: Map<number, number>, steps: Steps): void {
  for (let i = 0; i < steps.length; i += 2) count(into, steps[i] as number, steps[i + 1] as number)
}

function requestsOf(steps: ReadonlyMap<number, number>): number {
  return steps.values().reduce((sum, requests) => sum + requests, 0)
}

function quantileOf(steps: ReadonlyMap<number, number>, share: number): number | null {
  const all = requestsOf(steps)
  let passed = 0
  for (const [step, requests] of [...steps].sort(([a], [b]) => a - b)) {
    passed += requests
    if (passed >= all * share) return msOf(step)
  }
  return null
}
