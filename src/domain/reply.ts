import type { Awaitable } from '../util/awaitable.ts'

/** Bytes to pass on now; an empty list holds everything back. */
export type Passed = Buffer | readonly Buffer[]

/**
 * One stage of an answer on its way to the caller. Bytes come in the upstream's chunks.
 * A stage that returns a promise stops the upstream until it settles; one that throws cuts the caller.
 */
export type Stage = {
  write(chunk: Buffer): Awaitable<Passed>
  /** The upstream's answer was complete. What it returns is the last to be sent; the answer ends after it settles. */
  end(): Awaitable<Passed>
  /**
   * The stage and its source no longer use what it has handed on: memory that a chunk fills by itself may be freed
   * as soon as it has been written. Without this flag it is left to the collector.
   */
  readonly letsGo?: boolean
}

/** An answer from an upstream, before any of it has reached the caller. */
export type Reply = {
  readonly status: number
  /** Lower-case names, already reduced to those that may pass. A hook that changes the length deletes `content-length`. */
  readonly headers: { readonly [name: string]: string }
  /** Applied in order. */
  readonly stages: readonly Stage[]
  /** The client reads the other kind of answer: a plugin that can convert does so, and sets `content-type`. */
  readonly turnInto?: 'events' | 'whole'
  /** Only the end of the connection ends the upstream's answer, so that half of it looks complete. */
  readonly endUnknown?: boolean
  /** A stage knows by the content where the answer ends, so that a whole answer without a length differs from half of one. */
  readonly provesEnd?: boolean
}

/** An answer that is kept for a repeated request. */
export type StoredAnswer = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer
}

/** Headers of an upstream about the bytes of its answer. Most pass to the client only if the API format allows them. */
const measuring: ReadonlySet<string> = new Set([
  'content-length',
  'content-encoding',
  'etag',
  'digest',
  'content-digest',
  'repr-digest',
  'content-md5',
  'accept-ranges',
])

/** The headers of an answer whose bytes are no longer those that the upstream measured. */
export function withoutLength(headers: Reply['headers']): Reply['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !measuring.has(name)))
}

/** An answer that the gateway gives without an upstream. */
export type Answer = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer | string
}
