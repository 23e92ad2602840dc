import type { Body } from './body.ts'
import type { JsonObjectView } from './json.ts'
import type { Model } from './model.ts'

/** A request of a client, for a plugin that may turn it into a request of another operation. */
export type RerouteAsk = {
  /** The client's. */
  readonly operation: string
  readonly model: Model
  readonly body: Body
  /** The client requests a stream by its path; undefined if its body decides. */
  readonly stream: boolean | undefined
  /** Reads a JSON object as the body of a request is read. @throws Failure for one that a request could not have */
  parseObject(this: void, bytes: Buffer): JsonObjectView
}

/** The request that the gateway continues with, in place of the client's. */
export type Rerouted = {
  readonly operation: string
  readonly body: Body
  readonly stream: boolean
  /** The end of the path at upstreams, for an operation that has several paths. */
  readonly path?: string
  /** Values of the `{names}` of that path, other than the model. */
  readonly params?: { readonly [name: string]: string }
  /** Instead of the client's query. */
  readonly query: string
  /** Fields of the client that are not sent on. */
  readonly dropped: readonly string[]
}
