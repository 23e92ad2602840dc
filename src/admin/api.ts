import type { AdminToken, Session, User } from '../domain/index.ts'
import type { Admits, AnswerOf, Awaitable, Schema } from '../util/index.ts'
import type { Access } from './duties.ts'
import type { AdminParts } from './parts.ts'
import type { LoginThrottle } from './session/login-throttle.ts'

/** A person who is logged in. */
export type SessionUser = { readonly user: User; readonly session: Session }

/** An admin token: it acts in its own name, with its role. */
export type TokenUser = { readonly user: User; readonly token: AdminToken }

/** One request of the console, its fields checked against the route's schemas. */
export type AdminRequest<Query = unknown, Fields = unknown> = {
  /** Of this request, as in `x-request-id`. */
  readonly id: string
  readonly parts: AdminParts
  readonly door: LoginThrottle
  readonly params: { readonly [name: string]: string }
  readonly query: Query
  readonly body: Fields
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  /** The address that the request came from. */
  readonly remote: string
  /** `https` where TLS ends here or at a proxy in front that says so. */
  readonly scheme: 'http' | 'https'
  /** Of the request, checked to be nothing but a host and a port. */
  readonly host: string
  /** The person or the admin token; undefined for public routes without a signed-in user. */
  readonly sessionUser: SessionUser | TokenUser | undefined
  /** Aborted when the client has left. */
  readonly left: AbortSignal
}

/** An answer that is not simply the route's value as JSON. */
export class Reply {
  readonly status: number
  readonly headers: { readonly [name: string]: string | readonly string[] }
  /** A text, bytes, or pieces that are written as fast as they are taken; undefined for none. */
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

/** One endpoint: what the server runs, what the tests go through, and what `/openapi.json` is made of. */
export type Route<Query extends object = Schema, Fields extends object = Schema, Answer extends object = Schema> = {
  readonly method: Method
  /** As fastify reads it: `/api/keys/:id`. */
  readonly url: string
  readonly access: Access
  /** One sentence for the reference. */
  readonly summary: string
  readonly query?: Query
  /** Of the body's JSON; a body that is not named is refused. */
  readonly body?: Fields
  /** The largest body; 64 KiB by default. */
  readonly bodyBytesMax?: number
  /** Of the answer's JSON, and its status when it is not 200; 204 has none. */
  readonly answer?: Answer
  readonly status?: 200 | 201 | 204
  /** What it answers with when that is not JSON. */
  readonly contentType?: string
  handle(request: AdminRequest<Admits<Query>, Admits<Fields>>): Awaitable<AnswerOf<Answer> | null | Reply>
}

/** A route whose types have been forgotten, as the table of them keeps it. */
export type AnyRoute = Omit<Route, 'handle'> & {
  handle(request: AdminRequest<never, never>): Awaitable<object | null | Reply>
}

/** Checks a route's types and returns it as it is. */
export function defineRoute<
  const Query extends object = Record<never, never>,
  const Fields extends object = Record<never, never>,
  const Answer extends object = Record<never, never>,
>(route: Route<Query, Fields, Answer>): Route<Query, Fields, Answer> {
  return route
}
