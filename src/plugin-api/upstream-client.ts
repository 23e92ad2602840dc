import type { Awaitable } from '../util/awaitable.ts'
import type { Body } from '../domain/body.ts'

/** One request to an upstream. Fields that are left out are those of the operation's call. */
export type UpstreamRequest = {
  /** Another operation of the model's family, whose method and path are used; `params` fill its path. */
  readonly operation?: string
  readonly params?: { readonly [name: string]: string }
  readonly method?: string
  /** Path and query below the upstream's address. */
  readonly path?: string
  /**
   * A whole address, as an answer named it: called only where `hosts` or the upstream's own address allows it, and with the
   * credential only where it is the upstream's own origin.
   */
  readonly url?: string
  /** Hosts that `url` may name in addition to the upstream's own: `*.vendor.example`. */
  readonly hosts?: readonly string[]
  /**
   * true: the credential goes to `hosts` too, for jobs that a vendor serves at other hosts of its own; false: not even
   * to the upstream itself, for links, which carry what they need.
   */
  readonly withCredential?: boolean
  /** More headers, lower-case. */
  readonly headers?: { readonly [name: string]: string }
  readonly body: Body
  /** The answer is given up once more bytes of it have come. */
  readonly bytesMax?: number
}

/** An answer of the upstream, unpacked. Its body is read once, or given up by leaving the loop. */
export type UpstreamResponse = {
  readonly status: number
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  /** Only the end of its connection ends its body: a part of it looks complete. */
  readonly endUnknown?: boolean
  /** @throws Failure when it breaks off */
  readonly body: AsyncIterable<Buffer>
}

/** The target's upstream, for a plugin that calls it itself: with its credential, its time limits, and the end of its client's connection. */
export type UpstreamClient = {
  /** @throws Failure when no answer comes, or the address is not allowed */
  ask(request: UpstreamRequest): Promise<UpstreamResponse>
  /** @throws Failure when the exchange ends meanwhile */
  sleep(ms: number): Promise<void>
  /** The caller has left, and the rest is read for the charge's sake alone. */
  readonly isLeft: boolean
}

/** The answer that a plugin gives in the upstream's place. What its body throws cuts the caller. */
export type PluginResponse = {
  readonly status: number
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body: AsyncIterable<Buffer>
}

/** Calls the upstream, as often as it needs to. @throws Failure */
export type CallUpstream = (asker: UpstreamClient) => Awaitable<PluginResponse>
