import { randomUUID } from 'node:crypto'
import type { Demands } from './demands.ts'

export type JobState = 'waiting' | 'running' | 'done' | 'failed' | 'moderated' | 'expired' | 'canceled'

/** A job is over after so long even when nobody asks for it. */
const longestMs = 30_000
const keptMax = 20_000

/**
 * What a vendor works on after its answer. It is over after a poll that found it running, or as many as its prompt
 * demands; or half a minute later by the simulator's clock, should nobody ask.
 */
export class Job<Result> {
  readonly id: string
  readonly #demands: Demands
  readonly #since: number
  readonly #work: () => Result
  readonly #tick: () => number
  #polls = 0
  #canceled = false
  #result: { readonly value: Result } | undefined

  constructor(id: string, demands: Demands, tick: () => number, work: () => Result) {
    this.id = id
    this.#demands = demands
    this.#tick = tick
    this.#since = tick()
    this.#work = work
  }

  /** One look at it, by the caller. */
  poll(): JobState {
    this.#polls++
    return this.state()
  }

  state(): JobState {
    const demands = this.#demands
    const running = demands.numbers('polls')?.[0] ?? 1
    if (this.#canceled) return 'canceled'
    if (demands.has('expired') && this.#polls > 1) return 'expired'
    const over = this.#polls > running || this.#tick() - this.#since >= longestMs
    if (!over || demands.has('endless')) return this.#polls === 0 ? 'waiting' : 'running'
    if (demands.has('failed')) return 'failed'
    if (demands.has('moderated')) return 'moderated'
    this.result()
    return 'done'
  }

  /** What it comes to, worked out once. */
  result(): Result {
    this.#result ??= { value: this.#work() }
    return this.#result.value
  }

  cancel(): void {
    if (!this.#result) this.#canceled = true
  }
}

export class Jobs {
  readonly #jobs = new Map<string, Job<unknown>>()
  readonly #tick: () => number

  constructor(tick: () => number) {
    this.#tick = tick
  }

  open<Result>(demands: Demands, work: () => Result, id: string = randomUUID()): Job<Result> {
    const job = new Job(id, demands, this.#tick, work)
    this.#jobs.set(id, job)
    const [oldest] = this.#jobs.keys()
    if (this.#jobs.size > keptMax && oldest !== undefined) this.#jobs.delete(oldest)
    return job
  }

  /** The caller of `open` knows what the job's result is. */
  find<Result>(id: string | null | undefined): Job<Result> | undefined {
    return this.#jobs.get(id ?? '') as Job<Result> | undefined
  }

  /** Those that are over by the clock have made what they make. */
  settle(): void {
    for (const job of this.#jobs.values()) job.state()
  }
}
