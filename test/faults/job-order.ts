import type { Life } from './load.ts'

/**
 * `polled-1`: the answer that reports the end has the result. `stepped-1`: a second step has it. `fanned-1`: no jobs.
 */
export const jobModels = ['polled-1', 'stepped-1', 'linked-1', 'fanned-1'] as const

/** One request, the vendor's work and results for it, and what its caller received. */
export type JobOrder = {
  /** Sent to the vendor as prompt and stored in the charge as the requested quality. */
  readonly number: number
  readonly model: (typeof jobModels)[number]
  readonly images: number
  readonly life: Life
  readonly works: Work[]
  readonly produced: Set<string>
  readonly delivered: Set<string>
  /** The status of the answer; undefined if it was cut. */
  answered: string | undefined
}

/** Work that the vendor has accepted: its result was decided then. */
export type Work = {
  readonly id: string
  readonly order: JobOrder
  readonly fate: 'done' | 'failed' | 'forgotten' | 'endless'
  /** Milliseconds since the epoch. */
  readonly doneAt: number
  /** Its pictures, each with unique dimensions. */
  readonly marks: readonly string[]
}
