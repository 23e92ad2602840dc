import type { Awaitable } from '../util/awaitable.ts'
import type { Body } from '../domain/body.ts'

/** One request to an upstream. Absent fields have the values of the operation's call. */
export type UpstreamRequest = {
  /** Another operation of the model's family, whose method and path are used; `params` fill its path. */
  readonly operation?: string
  readonly params?: { readonly [name: string]: string }
  readonly method?: string
  /** Path and query below the upstream's address. */
  readonly path?: string
  /**
   * An absolute URL from a response. It is called only if `hosts` or the upstream's own address allows it. The
   * credential is sent only to the upstream's own origin.
   */
  readonly url?: string
  /** Hosts that `url` may name in addition to the upstream's own: `*.vendor.example`. */
  readonly hosts?: readonly string[]
  /**
   * true: the credential is also sent to `hosts`, for jobs that a vendor serves at other hosts of its own. false: the
   * credential is not sent even to the upstream itself, for links that need none.
   */
  readonly withCredential?: boolean
  /** More headers, lower-case. */
  readonly headers?: { readonly [name: string]: string }
  readonly body: Body
  /** The call is aborted when the response exceeds this number of bytes. */
  readonly bytesMax?: number
}

/** A response of the upstream, decompressed. Its body can be read once; leaving the loop aborts it. */
export type UpstreamResponse = {
  readonly status: number
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  /** The body ends only with its connection, so a truncated body looks complete. */
  readonly endUnknown?: boolean
  /** @throws Failure when it breaks off */
  readonly body: AsyncIterable<Buffer>
}

/**
 * Calls the target's upstream from a plugin, with its credential and its timeouts, and aborts when the client
 * disconnects.
 */
export type UpstreamClient = {
  /** @throws Failure when no answer comes, or the address is not allowed */
  ask(request: UpstreamRequest): Promise<UpstreamResponse>
  /** @throws Failure when the exchange ends meanwhile */
  sleep(ms: number): Promise<void>
  /** The client has left; the rest is read only to compute the charge. */
  readonly isLeft: boolean
}

/** The response that a plugin returns in place of the upstream's. Errors in its body abort the client's response. */
export type PluginResponse = {
  readonly status: number
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body: AsyncIterable<Buffer>
}

/** Calls the upstream as often as needed. @throws Failure */
export type CallUpstream = (asker: UpstreamClient) => Awaitable<PluginResponse>
