import type { ReloadResult } from './reload-result.ts'
import type { ConfigCause, ReviewStatus } from '../domain/index.ts'
import type { Snapshot } from '../observe/index.ts'
import type { ProcessStatus } from './status.ts'

/** A configuration: its text, and the texts of the files that it refers to, by absolute path. */
export type Written = { readonly text: string; readonly parts: { readonly [path: string]: string } }

/** The path and text of a worker's configuration. All workers have the same, even if the file was saved meanwhile. */
export type WorkerConfig = {
  readonly file: string
  /** The initial configuration of the first workers, which determines the settings that are read only once. */
  readonly first: Written
  /** The active configuration. */
  /** Absent if the initial one is still active. */
  readonly current?: Written
  /** The name of its lease on the storage. */
  readonly owner: string
}

/** The requests of a supervisor to its workers, by name. */
export type WorkerRequests = {
  state: { given: null; gives: { readonly ready: boolean; readonly open: number } }
  status: { given: null; gives: ProcessStatus }
  reviews: { given: null; gives: ReviewStatus | null }
  metrics: { given: null; gives: readonly Snapshot[] }
  reload: { given: Written & { readonly cause: ConfigCause }; gives: ReloadResult }
}

export type WorkerRequest = keyof WorkerRequests

export type ToWorker =
  | { readonly kind: 'start'; readonly config: WorkerConfig }
  | {
      readonly kind: 'question'
      readonly id: number
      readonly question: WorkerRequest
      readonly given: WorkerRequests[WorkerRequest]['given']
    }
  /** Finish running requests, and exit. */
  | { readonly kind: 'close' }

/**
 * An error in a form that can be sent between processes, with enough data for the same advice as in a single process.
 */
export type StartFailure = {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly address?: string
  readonly port?: number
  readonly syscall?: string
  readonly hostname?: string
}

export type FromWorker =
  | { readonly kind: 'listening'; readonly url: string; readonly simulated: readonly string[] }
  | { readonly kind: 'failed'; readonly failure: StartFailure }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'fault'; readonly id: number; readonly message: string }
