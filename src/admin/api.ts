import type { AdminToken, Session, User } from '../domain/index.ts'
import type { Admits, AnswerOf, Awaitable, Schema } from '../util/index.ts'
import type { Access } from './duties.ts'
import type { AdminParts } from './parts.ts'
import type { LoginThrottle } from './session/login-throttle.ts'

/** A person who is signed in. */
export type SessionUser = { readonly user: User; readonly session: Session }

/** An admin token, which acts under its own name and with its role; `hash` is that of its secret. */
export type TokenUser = { readonly user: User; readonly token: AdminToken; readonly hash: string }

/** One request to the console, with its fields validated by the route's schemas. */
export type AdminRequest<Query = unknown, Fields = unknown> = {
  /** The id of this request, as in `x-request-id`. */
  readonly id: string
  readonly parts: AdminParts
  readonly door: LoginThrottle
  readonly params: { readonly [name: string]: string }
  readonly query: Query
  readonly body: Fields
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  /** The address of the client. */
  readonly remote: string
  /** `https` if TLS ends here, or at a proxy that reports it. */
  readonly scheme: 'http' | 'https'
  /** The host of the request, validated as only a host and a port. */
  readonly host: string
  /** The person or the admin token; undefined for public routes without a signed-in user. */
  readonly sessionUser: SessionUser | TokenUser | undefined
  /** Aborted when the client disconnects. */
  readonly left: AbortSignal
}

/** A response other than the route's value as JSON. */
export class Reply {
  readonly status: number
  readonly headers: { readonly [name: string]: string | readonly string[] }
  /** A text, bytes, or pieces that are written at the speed of the client; undefined for none. */
  readonly body: string | Buffer | AsyncIterable<string | Buffer> | undefined

  constructor(
    status: number,
    headers: { readonly [name: string]: string | readonly string[] },
    body?: string | Buffer | AsyncIterable<string | Buffer>,
  ) {
    this.status = status
    this.headers = headers
    this.body = body
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One endpoint: the server serves it, tests cover it, and `/openapi.json` describes it. */
export type Route<Query extends object = Schema, Fields extends object = Schema, Answer extends object = Schema> = {
  readonly method: Method
  /** In the syntax of fastify: `/api/keys/:id`. */
  readonly url: string
  readonly access: Access
  /** One sentence for the reference. */
  readonly summary: string
  readonly query?: Query
  /** The schema of the JSON body; without a schema, a body is refused. */
  readonly body?: Fields
  /** The maximum size of the body; 64 KiB by default. */
  readonly bodyBytesMax?: number
  /** The schema of the JSON response, and its status if it is not 200; 204 has none. */
  readonly answer?: Answer
  readonly status?: 200 | 201 | 204
  /** The media type of the response if it is not JSON. */
  readonly contentType?: string
  handle(request: AdminRequest<Admits<Query>, Admits<Fields>>): Awaitable<AnswerOf<Answer> | null | Reply>
}

/** A route without its type parameters, for the table of routes. */
export type AnyRoute = Omit<Route, 'handle'> & {
  handle(request: AdminRequest<never, never>): Awaitable<object | null | Reply>
}

/** Checks the types of a route and returns it unchanged. */
export function defineRoute<
  const Query extends object = Record<never, never>,
  const Fields extends object = Record<never, never>,
  const Answer extends object = Record<never, never>,
>(route: Route<Query, Fields, Answer>): Route<Query, Fields, Answer> {
  return route
}
