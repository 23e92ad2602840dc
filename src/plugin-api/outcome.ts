import type { Failure } from '../domain/errors.ts'

/**
 * How far the upstream call got.
 * `untouched`: no byte of the request left. `unknown`: it may have been received; no answer was seen.
 * `refused`: a complete answer with an error status. `truncated`: an answer began and broke off.
 * `complete`: a complete answer with a success status.
 */
export type Reach = 'untouched' | 'unknown' | 'refused' | 'truncated' | 'complete'

/** How an exchange ended. It is set once. */
export type Outcome =
  /** The client got a whole response from an upstream or from a local route. */
  | { readonly kind: 'answered'; readonly status: number; readonly reach: Reach }
  /** The client got an error of the gateway. */
  | { readonly kind: 'refused'; readonly status: number; readonly failure: Failure; readonly reach: Reach }
  /** The client got no whole response. `status` is the status that had been sent, if any. */
  | {
      readonly kind: 'cut'
      readonly by: 'caller' | 'upstream' | 'deadline' | 'gateway'
      readonly status: number | undefined
      readonly reach: Reach
      readonly failure?: Failure
    }

/** The gateway had to stop before the exchange was over. Another process ends whatever remains. */
export function wasStopped(outcome: Outcome): boolean {
  return 'failure' in outcome && outcome.failure?.code === 'drain_deadline'
}
