import type { Awaitable } from '../util/index.ts'
import type { Picture } from './pictures/picture.ts'

/** A request to a simulated upstream, with its whole body. */
export type Call = {
  /** By names in lower case. */
  readonly headers: { readonly [name: string]: string | undefined }
  readonly query: URLSearchParams
  /** The values of the `{names}` in the route. */
  readonly params: { readonly [name: string]: string }
  readonly body: Buffer
  readonly site: Site
}

/** Services of the simulator for its upstreams. */
export type Site = {
  /** Returns the encoded picture. */
  paint(picture: Picture): Promise<Buffer>
  /** Returns a temporary link to the picture. */
  publish(picture: Picture): string
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds of a clock that never goes back. */
  tick(): number
  /** The address of the simulator, without a slash at the end. */
  origin(): string
}

export type Played = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** Each piece of a stream is sent when it is ready. A stream that throws breaks the connection. */
  readonly body: string | Buffer | AsyncIterable<string | Buffer>
}

export type Handler = (call: Call) => Awaitable<Played>

/**
 * A simulated upstream: its handlers by `METHOD /path`. The path is the part that the gateway appends to the upstream's
 * url; a `{name}` in it matches any text, including slashes. A handler refuses a request by throwing a Failure, which
 * is sent in the chat-completions style.
 */
export type SimulatedUpstream = { readonly [route: string]: Handler }
