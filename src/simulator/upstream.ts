import type { Awaitable } from '../util/index.ts'
import type { Picture } from './pictures/picture.ts'

/** A request to a simulated upstream, body and all. */
export type Call = {
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string | undefined }
  readonly query: URLSearchParams
  /** The values of the `{names}` of the route. */
  readonly params: { readonly [name: string]: string }
  readonly body: Buffer
  readonly site: Site
}

/** What the simulator does for its upstreams. */
export type Site = {
  /** The encoded picture. */
  paint(picture: Picture): Promise<Buffer>
  /** A link under which the picture can be downloaded for a while. */
  publish(picture: Picture): string
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds that only ever grow. */
  tick(): number
  /** The address of the simulator, without a slash at its end. */
  origin(): string
}

export type Played = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** A stream is sent piece by piece as it is made; one that throws cuts the connection. */
  readonly body: string | Buffer | AsyncIterable<string | Buffer>
}

export type Handler = (call: Call) => Awaitable<Played>

/**
 * A simulated upstream: what it answers, by `METHOD /path`, the path being what the gateway appends to the upstream's
 * url; a `{name}` in it matches anything, slashes too. Refuses by throwing a Failure, which is answered in the
 * chat-completions style.
 */
export type SimulatedUpstream = { readonly [route: string]: Handler }
