import type { Awaitable } from '../util/awaitable.ts'
import type { Body } from '../domain/body.ts'

/** One request to an upstream. Absent fields have the values of the operation's request. */
export type UpstreamRequest = {
  /** Another operation of the model's family, with its method and path; `params` fill the path. */
  readonly operation?: string
  readonly params?: { readonly [name: string]: string }
  readonly method?: string
  /** Path and query under the upstream's address. */
  readonly path?: string
  /**
   * An absolute URL from a response. It is called only if `hosts` or the upstream's own address allow it. The
   * credential is sent only to the upstream's own origin.
   */
  readonly url?: string
  /** Allowed hosts of `url` in addition to the upstream's own: `*.vendor.example`. */
  readonly hosts?: readonly string[]
  /**
   * true: the credential is also sent to `hosts`, for jobs at other hosts of the same vendor. false: the credential is
   * not sent at all, not even to the upstream itself, for links that need none.
   */
  readonly withCredential?: boolean
  /** Additional headers, in lower case. */
  readonly headers?: { readonly [name: string]: string }
  readonly body: Body
  /** The call is aborted if the response exceeds this number of bytes. */
  readonly bytesMax?: number
}

/** A decompressed response of the upstream. Its body can be read once; leaving the loop aborts it. */
export type UpstreamResponse = {
  readonly status: number
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  /** Whether only the end of the connection ends the body, so that a truncated body looks complete. */
  readonly endUnknown?: boolean
  /** @throws Failure if it breaks off */
  readonly body: AsyncIterable<Buffer>
}

/**
 * Calls the target's upstream for a plugin, with its credential and its timeouts. The call is aborted when the client
 * disconnects.
 */
export type UpstreamClient = {
  /** @throws Failure if there is no answer, or the address is not allowed */
  ask(request: UpstreamRequest): Promise<UpstreamResponse>
  /** @throws Failure if the exchange ends meanwhile */
  sleep(ms: number): Promise<void>
  /** Whether the client has disconnected, so that the rest is read only for the charge. */
  readonly isLeft: boolean
}

/** The response that a plugin returns instead of the upstream's. Errors in its body abort the client's response. */
export type PluginResponse = {
  readonly status: number
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body: AsyncIterable<Buffer>
}

/** Calls the upstream any number of times. @throws Failure */
export type CallUpstream = (asker: UpstreamClient) => Awaitable<PluginResponse>
