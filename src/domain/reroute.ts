import type { Body } from './body.ts'
import type { JsonObjectView } from './json.ts'
import type { Model } from './model.ts'

/** A client's request, for a plugin that may convert it to a request of another operation. */
export type RerouteAsk = {
  /** The client's operation. */
  readonly operation: string
  readonly model: Model
  readonly body: Body
  /** Whether the path requests a stream; undefined if the body decides. */
  readonly stream: boolean | undefined
  /**
   * Parses a JSON object under the same limits as a request body. @throws Failure for an object that no request may
   * have
   */
  parseObject(this: void, bytes: Buffer): JsonObjectView
}

/** The request with which the gateway continues, in place of the client's. */
export type Rerouted = {
  readonly operation: string
  readonly body: Body
  readonly stream: boolean
  /** The end of the path at upstreams, for an operation that has several paths. */
  readonly path?: string
  /** Values of the `{names}` of that path, except the model. */
  readonly params?: { readonly [name: string]: string }
  /** Replaces the client's query. */
  readonly query: string
  /** The client's fields that are not sent on. */
  readonly dropped: readonly string[]
}
