import type { Engine } from '../engine/index.ts'
import {
  type Counters,
  Failure,
  type KeyStore,
  type Job,
  type JobStore,
  type Ledger,
  type NewJob,
  slotsOfJob,
  type StoredAnswer,
  type Ticket,
} from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'

/** The interval of searches for jobs of dead processes, and of retries after a failed poll. */
const everyMs = 5_000
/** A job counts as one of the concurrent jobs of its key. */
const ofOneJob = 1
/** The time for which each process retries a job whose poll fails in the gateway, regardless of its deadline. */
const patienceMs = 60_000

/** Polls jobs whose clients do not wait: jobs that requests have handed over, and those of dead processes. */
export class JobRunner {
  readonly #store: JobStore
  readonly #engine: () => Pick<Engine, 'resume' | 'running'>
  readonly #keys: Pick<KeyStore, 'find'>
  readonly #counters: Pick<Counters, 'take' | 'settle'>
  /** The slots of jobs whose clients do not wait, while these run here. */
  readonly #held = new Map<string, Ticket>()
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #log: Log
  readonly #running = new Map<string, Promise<void>>()
  /** For each job whose poll failed, the time since which this process has retried it. */
  readonly #triedSince = new Map<string, number>()
  /** Jobs that an exchange of this process waits for. */
  readonly #waited = new Set<string>()
  #watch: { cancel(): void } | undefined
  #isOver = false

  constructor(
    store: JobStore,
    parts: {
      readonly engine: () => Pick<Engine, 'resume' | 'running'>
      readonly keys: Pick<KeyStore, 'find'>
      readonly counters: Pick<Counters, 'take' | 'settle'>
      readonly ledger: Ledger
      readonly clock: Clock
      readonly log: Log
    },
  ) {
    this.#store = store
    this.#engine = parts.engine
    this.#keys = parts.keys
    this.#counters = parts.counters
    this.#ledger = parts.ledger
    this.#clock = parts.clock
    this.#log = parts.log
  }

  /** The store for plugins. Jobs that they hand over start here. */
  get store(): JobStore {
    return {
      open: async (job, mode) => {
        this.#waited.add(job.id)
        await this.#store.open(job, mode)
        if (mode === 'detached') {
          // Takes the job's slots before the request releases its own.
          await this.#hold(job)
          this.#waited.delete(job.id)
          this.#take(toJob(job, this.#clock.now()))
        }
      },
      end: (id, state, answer) => {
        this.#waited.delete(id)
        return this.#end(id, state, answer)
      },
      find: id => this.#store.find(id),
      openOf: keyId => this.#store.openOf(keyId),
      own: () => this.#store.own(),
    }
  }

  /** Continues the jobs of dead processes, now and every few seconds. */
  start(): void {
    void this.#look()
    this.#watch = this.#clock.every(everyMs, () => void this.#look())
  }

  /** Starts no more jobs; resolves when none is running. */
  async stop(): Promise<void> {
    this.#isOver = true
    this.#watch?.cancel()
    await Promise.all(this.#running.values())
  }

  async #look(): Promise<void> {
    try {
      const held = [...this.#held.keys()]
      const own = await this.#store.own()
      const ids = new Set(own.map(({ id }) => id))
      for (const id of this.#triedSince.keys()) if (!ids.has(id)) this.#triedSince.delete(id)
      for (const id of held) if (!ids.has(id) && !this.#running.has(id)) await this.#giveBackEnded(id)
      for (const job of own) {
        if (!this.#waited.has(job.id)) await this.#hold(job)
        this.#take(job)
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'unfinished jobs could not be read')
    }
  }

  /** The job counts against the limits of its key, user and group, which were checked at its admission. */
  async #hold({ id, keyId, operation }: Pick<Job, 'id' | 'keyId' | 'operation'>): Promise<void> {
    if (this.#held.has(id) || this.#isBatch(operation)) return
    try {
      const key = await this.#keys.find(keyId)
      const group = key && this.#engine().running.plan.groups.get(key.group ?? key.userGroup)
      if (!key || !group) return
      const demands = slotsOfJob(key, group).map(places => {
        return { ...places, kind: 'places', limit: Number.MAX_SAFE_INTEGER, amount: ofOneJob, shadow: true } as const
      })
      const { ticket } = await this.#counters.take(demands, 'local')
      if (ticket) this.#held.set(id, ticket)
    } catch (error) {
      this.#log.warn({ job: id, err: error }, 'the slots of a job could not be counted')
    }
  }

  /** A batch runs for hours, so it takes no concurrency slot. */
  #isBatch(operation: string): boolean {
    const route = this.#engine().running.plan.routes.find(one => one.operation === operation)
    return route?.deferred?.batch !== undefined
  }

  async #end(...[id, ...how]: Parameters<JobStore['end']>): Promise<boolean> {
    const hasEnded = await this.#store.end(id, ...how)
    await this.#giveBack(id)
    return hasEnded
  }

  async #giveBack(id: string): Promise<void> {
    const ticket = this.#held.get(id)
    this.#held.delete(id)
    if (ticket)
      await this.#counters.settle(
        ticket,
        ticket.demands.map(() => 0),
      )
  }

  /** Releases the slots of a job that another process has continued or ended. */
  async #giveBackEnded(id: string): Promise<void> {
    const job = await this.#store.find(id)
    if (job?.state !== 'running') await this.#giveBack(id)
  }

  #take(job: Job): void {
    const { id } = job
    if (this.#isOver || this.#running.has(id) || this.#waited.has(id)) return
    this.#running.set(
      id,
      this.#run(job).finally(() => this.#running.delete(id)),
    )
  }

  async #run(job: Job): Promise<void> {
    try {
      const answer = await this.#engine().resume(job)
      await this.#end(job.id, answer.status < 400 ? 'done' : 'failed', answer)
    } catch (error) {
      const failure = error instanceof Failure ? error : undefined
      if (this.#isOver || failure?.code === 'drain_deadline') return
      this.#log.warn({ job: job.id, err: error }, 'a job could not be polled')
      if (isFinal(failure) || this.#isOverdue(job) || (await this.#isUnpayable(job, failure)))
        await this.#giveUp(job.id, failure)
    }
  }

  /**
   * Retries for a while in any case: the deadline may have passed while no process ran, and the storage may be
   * unreachable when the first one starts.
   */
  #isOverdue({ id, deadlineAt }: Job): boolean {
    const now = this.#clock.now()
    const since = this.#triedSince.get(id) ?? now
    this.#triedSince.set(id, since)
    return now >= Math.max(deadlineAt, since + patienceMs)
  }

  /** Whether the charge of the job ended without this result, so that a retry is useless. */
  async #isUnpayable({ id }: Job, failure: Failure | undefined): Promise<boolean> {
    if (failure?.code !== 'charge_not_recorded') return false
    try {
      return (await this.#ledger.find(id))?.state !== 'reserved'
    } catch {
      return false
    }
  }

  /** Ends the charge first: no process searches for an ended job, so its charge would stay open. */
  async #giveUp(id: string, failure: Failure | undefined): Promise<void> {
    const reason = failure?.code ?? 'internal_error'
    try {
      const isReviewed = await this.#ledger.review(id, reason)
      // A charge with items is not empty, because a part of the result was delivered.
      if (!isReviewed) await this.#ledger.settle({ id, delivery: 'partial', reason })
      await this.#end(id, 'failed', toAnswer(failure))
    } catch (error) {
      this.#log.error({ job: id, err: error }, 'the end of a job could not be stored')
    }
  }
}

/** Whether a retry would bring the same result: the response is unreadable or was refused. */
function isFinal(failure: Failure | undefined): boolean {
  const { code = '' } = failure ?? {}
  return ['job_timeout', 'job_in_review', 'upstream_refused'].includes(code) || code.startsWith('upstream_answer_')
}

function toAnswer(failure: Failure | undefined): StoredAnswer {
  const error = { message: failure?.message ?? 'the gateway failed', code: failure?.code ?? 'internal_error' }
  return {
    status: failure?.status ?? 500,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ error })),
  }
}

function toJob(job: NewJob, createdAt: number): Job {
  return { ...job, state: 'running', createdAt, endedAt: null, answer: null }
}
