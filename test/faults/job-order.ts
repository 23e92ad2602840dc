import type { Life } from './load.ts'

/** `polled-1`: the answer that says done has the result. `stepped-1`: a second step has it. `fanned-1`: no jobs. */
export const jobModels = ['polled-1', 'stepped-1', 'linked-1', 'fanned-1'] as const

/** One request, what the vendor took and made for it, and what its caller had of it. */
export type JobOrder = {
  /** Told to the vendor as prompt and kept by the charge as the quality asked for. */
  readonly number: number
  readonly model: (typeof jobModels)[number]
  readonly images: number
  readonly life: Life
  readonly works: Work[]
  readonly produced: Set<string>
  readonly delivered: Set<string>
  /** How it was answered; undefined where it was cut. */
  answered: string | undefined
}

/** Work that the vendor has taken: what becomes of it was decided then. */
export type Work = {
  readonly id: string
  readonly order: JobOrder
  readonly fate: 'done' | 'failed' | 'forgotten' | 'endless'
  /** Milliseconds since the epoch. */
  readonly doneAt: number
  /** The pictures that it makes, each with dimensions of its own. */
  readonly marks: readonly string[]
}
