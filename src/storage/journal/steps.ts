import type { LogMatch, LogStep } from '../../domain/index.ts'
import { eachLogBatch, readSums } from '../log-batches/find.ts'
import { placesIn } from '../log-batches/match.ts'
import type { LogBatch } from '../log-batches/parse.ts'
import { lookupsIn } from '../log-batches/spans.ts'
import { failuresOf } from '../log-batches/sums.ts'
import { findLogBatches } from '../log-batches/walk.ts'
import type { QueryProgram } from '../query.ts'
import { asksForCharge, keepCharged } from './charged.ts'

type Match = LogMatch & { readonly since: number; readonly until: number }

/** Requests by steps of time, oldest first; empty steps are left out. */
export function* countSteps(match: Match, stepMs: number): QueryProgram<readonly LogStep[]> {
  const steps = new Steps(stepMs)
  const { since, until, lookups, ...others } = match
  const isOfAll = Object.values(others).every(value => value === undefined)
  const kept = isOfAll ? yield* readSums(since, until - 1) : new Map<number, never>()
  const batches = (yield* findLogBatches(match)).filter(({ number, firstMs, lastMs }) => {
    const sums = kept.get(number)
    if (!sums || firstMs < since || lastMs >= until || !steps.isOneStep(sums.from, sums.to)) return true
    if (lookups === false && !sums.spans) return true
    const left = lookups === false && sums.spans ? lookupsIn(sums.spans) : 0
    if (sums.requests > left) steps.add(sums.from, sums.requests - left, sums.errors)
    return false
  })
  yield* eachLogBatch(batches, batch => addBatch(steps, batch, match))
  return steps.inOrder()
}

function* addBatch(steps: Steps, batch: LogBatch, match: Match): QueryProgram<void> {
  const failures = failuresOf(batch)
  let places = placesIn(batch, match)
  if (asksForCharge(match)) {
    const rows = yield* keepCharged(
      places.map(at => batch.rowOf(at)),
      match,
    )
    places = rows.map(({ id }) => batch.firstAt(id))
  }
  for (const at of places) steps.add(batch.timeOf(at), 1, failures[batch.whatOf(at)] === true ? 1 : 0)
}

class Steps {
  readonly #stepMs: number
  readonly #counts = new Map<number, { requests: number; errors: number }>()

  constructor(stepMs: number) {
    this.#stepMs = Math.floor(stepMs)
  }

  isOneStep(from: number, to: number): boolean {
    return this.#startOf(from) === this.#startOf(to)
  }

  add(time: number, requests: number, errors: number): void {
    const start = this.#startOf(time)
    const counts = this.#counts.get(start)
    if (!counts) return void this.#counts.set(start, { requests, errors })
    counts.requests += requests
    counts.errors += errors
  }

  inOrder(): readonly LogStep[] {
    return [...this.#counts].map(([from, counts]) => ({ from, ...counts })).sort((a, b) => a.from - b.from)
  }

  #startOf(time: number): number {
    return Math.floor(time / this.#stepMs) * this.#stepMs
  }
}
