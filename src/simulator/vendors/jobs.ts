import { randomUUID } from 'node:crypto'
import type { Demands } from './demands.ts'

export type JobState = 'waiting' | 'running' | 'done' | 'failed' | 'refused' | 'moderated' | 'expired' | 'canceled'

/** A job without polls is over after this time. */
const longestMs = 30_000
const keptMax = 20_000

/**
 * A vendor's job that continues after its response. It is over after as many polls as the prompt demands, one by
 * default, have found it running; or half a minute after its start by the simulator's clock.
 */
export class Job<About> {
  readonly id: string
  readonly demands: Demands
  readonly #since: number
  /** The vendor's data of this job. */
  readonly about: About
  readonly #finish: (about: About) => void
  readonly #tick: () => number
  #polls = 0
  #canceled = false
  #finished = false

  constructor(id: string, demands: Demands, tick: () => number, about: About, finish: (about: About) => void) {
    this.id = id
    this.demands = demands
    this.#tick = tick
    this.#since = tick()
    this.about = about
    this.#finish = finish
  }

  /** Counts a poll of the client, and returns the state. */
  poll(): JobState {
    this.#polls++
    return this.state()
  }

  state(): JobState {
    const { demands } = this
    const running = demands.numbers('polls')?.[0] ?? 1
    if (this.#canceled) return 'canceled'
    if (demands.has('expired') && this.#polls > 1) return 'expired'
    const over = this.#polls > running || this.#tick() - this.#since >= longestMs
    if (!over || demands.has('endless')) return this.#polls === 0 ? 'waiting' : 'running'
    if (demands.has('failed')) return 'failed'
    if (demands.has('refused')) return 'refused'
    if (demands.has('moderated')) return 'moderated'
    if (!this.#finished) this.#finish(this.about)
    this.#finished = true
    return 'done'
  }

  cancel(): void {
    if (!this.#finished) this.#canceled = true
  }
}

export class Jobs {
  readonly #jobs = new Map<string, Job<never>>()
  readonly #tick: () => number

  constructor(tick: () => number) {
    this.#tick = tick
  }

  /** @param finish called once, when the job has succeeded */
  open<About>(demands: Demands, about: About, finish: (about: About) => void, id: string = randomUUID()): Job<About> {
    const job = new Job(id, demands, this.#tick, about, finish)
    this.#jobs.set(id, job as unknown as Job<never>)
    const [oldest] = this.#jobs.keys()
    if (this.#jobs.size > keptMax && oldest !== undefined) this.#jobs.delete(oldest)
    return job
  }

  /** The type parameter is unchecked: the caller knows it from its `open`. */
  find<About>(id: string | null | undefined): Job<About> | undefined {
    return this.#jobs.get(id ?? '') as Job<About> | undefined
  }

  /** Finishes jobs whose time is over, so that their pictures are in the ledger. */
  settle(): void {
    for (const job of this.#jobs.values()) job.state()
  }
}
