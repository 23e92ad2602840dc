/** Work that continues after the response to its request. The gateway polls it and charges it when it ends. */
export type DeferredTraits = {
  /** Request field that starts it with `true`; absent for operations whose requests all start it. */
  readonly when?: string
  /** Member of stream events that holds the object. */
  readonly inside?: string
  /** Member of the object with its state. */
  readonly state: string
  /** States in which the work has ended. */
  readonly ended: readonly string[]
  /** Those states with a complete result. In others, only the reported usage is charged. */
  readonly whole: readonly string[]
  /** Operation that returns the object by its id. */
  readonly poll: string
  /** Headers of the gateway's own requests for it. */
  readonly headers?: { readonly [name: string]: string }
  /** The first wait between two polls; it doubles up to `mostMs`. */
  readonly everyMs: number
  readonly mostMs: number
  /** The maximum polling time in hours. After that a person decides about the charge. */
  readonly hours: number
  /** Present for batches: many requests that are answered together. */
  readonly batch?: BatchTraits
}

/** The places of a batch's requests and results, one per line. */
export type BatchTraits = {
  /** Its requests: elements of a list in the body, or lines of a stored file. */
  readonly requests:
    | { readonly list: string; readonly body: string; readonly operation: string }
    | {
        /** Field with the id of the file, and the operation that returns its content. */
        readonly file: string
        readonly operation: string
        /** Member of a line that is the body of a request. */
        readonly body: string
        /** Field, in the body and in each line, with the path of the requests. */
        readonly path: string
        readonly linePath: string
      }
  /** The operation that returns the results by an id: the batch's own id, or the id of each file in `files`. */
  readonly results: { readonly operation: string; readonly files?: readonly string[] }
  /** Path of members to the response of a request in a line of the results. */
  readonly response: readonly string[]
  /** Member next to the response with the HTTP status; absent if only successful lines have a response. */
  readonly status?: readonly string[]
  /** Path of members of the batch to the number of requests that succeeded. */
  readonly succeeded: readonly string[]
  /** Facts of all requests that prices depend on. */
  readonly facts: { readonly service_tier: string }
}
