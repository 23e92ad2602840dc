import type { Failure } from '../domain/errors.ts'

/**
 * The progress of the upstream call.
 * `untouched`: no byte of the request was sent. `unknown`: it may have been received, but there was no answer.
 * `refused`: a complete answer with an error status. `truncated`: an answer began, but broke off.
 * `complete`: a complete answer with a success status.
 */
export type Reach = 'untouched' | 'unknown' | 'refused' | 'truncated' | 'complete'

/** The end of an exchange. It is set once. */
export type Outcome =
  /** The client got a complete response, from an upstream or a local route. */
  | { readonly kind: 'answered'; readonly status: number; readonly reach: Reach }
  /** The client got an error from the gateway. */
  | { readonly kind: 'refused'; readonly status: number; readonly failure: Failure; readonly reach: Reach }
  /** The client got no complete response. `status` is the status that was already sent, if any. */
  | {
      readonly kind: 'cut'
      readonly by: 'caller' | 'upstream' | 'deadline' | 'gateway'
      readonly status: number | undefined
      readonly reach: Reach
      readonly failure?: Failure
    }

/** Whether the gateway had to stop before the end of the exchange. Another process ends the rest. */
export function wasStopped(outcome: Outcome): boolean {
  return 'failure' in outcome && outcome.failure?.code === 'drain_deadline'
}
