import type { Awaitable } from '../util/awaitable.ts'

/** Bytes to pass on now; an empty list holds back everything. */
export type Passed = Buffer | readonly Buffer[]

/**
 * One stage of a response on its way to the client. Bytes arrive in the upstream's chunks. A stage that returns a
 * promise pauses the upstream until it settles; a stage that throws aborts the client's response.
 */
export type Stage = {
  write(chunk: Buffer): Awaitable<Passed>
  /**
   * The upstream's response was complete. The returned bytes are the last ones; the response ends after the promise
   * settles.
   */
  end(): Awaitable<Passed>
  /**
   * The stage and its source no longer use bytes that they have passed on, so a chunk that fills its memory may be
   * freed after it is written. Without this flag, the garbage collector frees it.
   */
  readonly letsGo?: boolean
}

/** A response of an upstream, before any of it has reached the client. */
export type Reply = {
  readonly status: number
  /**
   * Lower-case names, already reduced to those that may pass. A hook that changes the length must delete
   * `content-length`.
   */
  readonly headers: { readonly [name: string]: string }
  /** Applied in order. */
  readonly stages: readonly Stage[]
  /** The client expects the other kind of response. A plugin that can convert it does so, and sets `content-type`. */
  readonly turnInto?: 'events' | 'whole'
  /**
   * Only the end of the connection marks the end of the upstream's response, so a truncated response looks complete.
   */
  readonly endUnknown?: boolean
  /** A stage detects the end of the response in its content, so a truncated response is recognised without a length. */
  readonly provesEnd?: boolean
}

/** A response that is stored for a repeated request. */
export type StoredAnswer = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer
}

/**
 * Headers of an upstream about the bytes of its response. Most pass to the client only if the API format allows them.
 */
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

/** The headers for a response whose bytes were changed. */
export function withoutLength(headers: Reply['headers']): Reply['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !measuring.has(name)))
}

/** A response of the gateway without an upstream. */
export type Answer = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer | string
}
