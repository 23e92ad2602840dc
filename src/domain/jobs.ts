import type { Awaitable } from '../util/awaitable.ts'
import type { StoredAnswer } from './reply.ts'
import { defineSlot } from './slots.ts'

/** Work that an upstream has accepted, and that is polled until it ends. */
export type NewJob = {
  /** The id of the request and of its charge. */
  readonly id: string
  readonly keyId: string
  readonly operation: string
  readonly model: string
  readonly upstream: string
  /** The upstream's key that was used; null if it has only one. */
  readonly vendorKey?: string | null
  /** The number of requested items. */
  readonly n: number
  /** Values that the upstream reported about it, by name: its id, its address. One entry for each upstream request. */
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

/** Stores jobs. Writes are durable when their promise resolves. */
export type JobStore = {
  /**
   * A job belongs to the process until it has ended or the process is gone; then another process takes it over.
   * `detached`: no client waits, and the gateway polls it.
   */
  open(job: NewJob, mode: 'waited' | 'detached'): Promise<void>
  /** False if it had already ended, or belongs to another process. */
  end(id: string, state: Exclude<JobState, 'running'>, answer: StoredAnswer | null): Promise<boolean>
  find(id: string): Awaitable<Job | undefined>
  /** The number of unfinished jobs of a key. */
  openOf(keyId: string): Awaitable<number>
  /** Running jobs of this process. */
  own(): Awaitable<readonly Job[]>
}

/** The job state of an exchange; put by the plugin that calls the upstream. */
export type JobCourse = {
  /** The job to resume after its client has left. */
  readonly resumed: Job | undefined
  /** Whether the job is stored: if this exchange ends before the job, another exchange resumes it. */
  isOpen: boolean
  /** Whether the job may be stored: the storage has neither confirmed nor refused it. */
  isInDoubt: boolean
  /**
   * Whether part of the response may have been sent before, so that a different response could be taken for the paid
   * one.
   */
  hasBegun: boolean
  /** Whether the job continues without this exchange, which must not end its charge. */
  handedOver: boolean
}

/** The client does not wait for the job of its request; put at `onTarget`. */
export const detachedJobSlot = defineSlot<true>('detached-job')

export const jobSlot = defineSlot<JobCourse>('job')
