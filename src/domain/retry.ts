/** Outcomes without an answer after which a request may be sent again: `reset` is a connection that was lost. */
export const retryFaults = ['timeout', 'connect', 'reset'] as const
/** Statuses of answers after which a request may be sent again. */
export const retryStatuses = [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529] as const
export type RetryCause = number | (typeof retryFaults)[number]

/** When a request is sent again, and how often. */
export type RetryPolicy = {
  readonly on: ReadonlySet<RetryCause>
  /** Requests to upstreams for one of a client, at most: the first one counts. */
  readonly attempts: number
  /** The wait before all upstreams are tried again; twice as long each time. */
  readonly backoffMs: number
  /** No request waits longer, even if an upstream requests it. */
  readonly waitMaxMs: number
  /** What may have been sold is requested again, whatever it costs. */
  readonly paysTwice: boolean
}

/** One request to an upstream, of those that a client's request took. */
export type AttemptRecord = {
  readonly upstream: string
  /** The name of the vendor key; null for an upstream without keys. */
  readonly key: string | null
  /** The fallback that was called; absent for the model that was requested. */
  readonly model?: string
  /** The status, or the code of the error without an answer. */
  readonly answer: string
  /** From sending to the head of the answer. */
  readonly ms: number
}
