import type { Awaitable } from '../util/awaitable.ts'
import type { StoredAnswer } from './reply.ts'
import { defineSlot } from './slots.ts'

/** Work that an upstream has taken, and that is polled until it is done. */
export type NewJob = {
  /** The request's, and its charge's. */
  readonly id: string
  readonly keyId: string
  readonly operation: string
  readonly model: string
  readonly upstream: string
  /** The upstream's key that was used; null if it has only one. */
  readonly vendorKey?: string | null
  /** How many things are made. */
  readonly n: number
  /** What the upstream has reported of it, by names: its id, its address. One for each request that it took. */
  readonly told: readonly { readonly [name: string]: string }[]
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number
}

export const jobStates = ['running', 'done', 'failed'] as const
export type JobState = (typeof jobStates)[number]

export type Job = NewJob & {
  readonly state: JobState
  readonly createdAt: number
  readonly endedAt: number | null
  /** Its result, for later requests. */
  readonly answer: StoredAnswer | null
}

/** Jobs. What is written is durable when the promise resolves. */
export type JobStore = {
  /**
   * A job is the process's own until it has ended, or the process is gone: then another one has it. `detached`: no client waits,
   * and the gateway polls it.
   */
  open(job: NewJob, mode: 'waited' | 'detached'): Promise<void>
  /** False if it had ended before, or belongs to another process by now. */
  end(id: string, state: Exclude<JobState, 'running'>, answer: StoredAnswer | null): Promise<boolean>
  find(id: string): Awaitable<Job | undefined>
  /** How many jobs of a key have not ended. */
  openOf(keyId: string): Awaitable<number>
  /** Those that run and are this process's. */
  own(): Awaitable<readonly Job[]>
}

/** The state of the exchange of a job; put by the plugin that calls its upstream. */
export type JobCourse = {
  /** The job that is taken up again, after its client has left. */
  readonly resumed: Job | undefined
  /** It is written down: should this exchange end before it, another one takes it up. */
  isOpen: boolean
  /** It may be written down: the storage has not said that it is, and not that it is not. */
  isInDoubt: boolean
  /** Some of the answer may have gone out before: another answer would pass for what was paid. */
  hasBegun: boolean
  /** Its charge is not this exchange's to end: the job goes on without it. */
  handedOver: boolean
}

/** The client does not wait for the job that its request becomes; given at `onTarget`. */
export const detachedJobSlot = defineSlot<true>('detached-job')

export const jobSlot = defineSlot<JobCourse>('job')
