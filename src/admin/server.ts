import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { fastify, type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Failure, type User } from '../domain/index.ts'
import { callerAddress, plainAddress, readAdminSecret, type Schema } from '../util/index.ts'
import { type AnyRoute, type AdminRequest, Reply } from './api.ts'
import { assetRoutes } from './assets.ts'
import { type Duty, may } from './duties.ts'
import { chooseEncoding, compressOnTheWay } from './encoding.ts'
import { fail } from './errors.ts'
import { jsonParser, refuseOtherBody } from './json-body.ts'
import { pageRoutes } from './pages/index.ts'
import type { AdminParts } from './parts.ts'
import { apiRoutes } from './routes/index.ts'
import { type Reason, refuse } from './reasons.ts'
import { requestValidator, type RequestValidator } from './request-validators.ts'
import { patternReasons } from './schemas.ts'
import { readCookie } from './session/cookie.ts'
import { createLoginThrottle, type LoginThrottle } from './session/login-throttle.ts'
import { readHost, readScheme, requireSameSite } from './session/same-site.ts'
import { findSessionUser, needOpenSession } from './session/sessions.ts'
import { findTokenUser, readBearer } from './session/token-user.ts'

const everywhere = {
  'content-security-policy':
    "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; img-src 'self' data: blob:; media-src 'self' blob:",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
} as const

const uncached = { ...everywhere, 'cache-control': 'no-store' } as const

/** Security headers of every response of the console: no content from other origins, no frames, no type sniffing. */
function securityHeaders(url: string): { readonly [name: string]: string } {
  return url.startsWith('/api/') ? uncached : everywhere
}

const bodyBytesMax = 64 * 1024
const nothing = { type: 'object', additionalProperties: false, properties: {} } as const

export type Admin = {
  handle(req: IncomingMessage, res: ServerResponse): void
  /** Ends responses that do not end by themselves, such as a tail of the log. */
  close(): Promise<void>
}

/** The user, who is identified before any byte of the body is read. */
type Arrival = {
  readonly host: string
  readonly scheme: 'http' | 'https'
  readonly sessionUser: AdminRequest['sessionUser']
}

/** The console's server: its API, its pages, and the files of the built console. It does not listen itself. */
export async function createAdmin(parts: AdminParts): Promise<Admin> {
  const closing = new AbortController()
  const door = createLoginThrottle(parts)
  const arrivals = new WeakMap<FastifyRequest, Arrival>()
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    bodyLimit: bodyBytesMax,
    genReqId: () => parts.ids.next('web_', parts.clock.now()),
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: true },
    schemaController: {
      // The type requires a schema, but fastify passes a route.
      compilersFactory: { buildValidator: buildValidator as never },
    },
    frameworkErrors: (error, request, reply) => void answerError(parts, error, request, reply),
  })
  app.removeAllContentTypeParsers()
  const parse = jsonParser(app.getDefaultJsonParser('error', 'error'))
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, parse)
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, refuseOtherBody)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders(request.url)).header('x-request-id', request.id).header('request-id', request.id)
  })
  app.setErrorHandler((error: FastifyError, request, reply) => answerError(parts, error, request, reply))
  app.setNotFoundHandler((request, reply) => answerError(parts, unknownEndpoint(app, request), request, reply))
  for (const route of [...apiRoutes, ...pageRoutes(apiRoutes), ...assetRoutes]) addRoute(app, route)
  await app.ready()

  function addRoute(server: FastifyInstance, route: AnyRoute): void {
    server.route({
      method: route.method,
      url: route.url,
      // Only pages and files have HEAD: the API has endless responses, and no client needs it there.
      exposeHeadRoute: route.method === 'GET' && !route.url.startsWith('/api/'),
      bodyLimit: route.bodyBytesMax ?? bodyBytesMax,
      schema: {
        querystring: route.query ?? nothing,
        ...bodySchemaOf(route),
      },
      async onRequest(request) {
        arrivals.set(request, await arrive(parts, door, route, request))
      },
      async preValidation(request) {
        // Programs omit the body if every field has a default.
        if (route.method !== 'GET' && route.method !== 'DELETE') request.body ??= {}
        if (route.query) request.query = readQuery(request.query as object, route.query)
      },
      async handler(request, reply) {
        const asked = askOf(request, reply)
        // Rights may have ended since the head of the request. A client that sends its body late could otherwise still
        // make a change: a demoted administrator, or the holder of a revoked token.
        if (route.method !== 'GET' && route.access !== 'anyone') await needOpenSession(asked)
        const answered = await route.handle(asked as AdminRequest<never, never>)
        if (answered instanceof Reply) return sendReply(reply, answered)
        reply.status(route.status ?? 200)
        if (route.method !== 'GET' || answered === null) return reply.send(answered ?? undefined)
        return sendJson(reply, request.headers['accept-encoding'], answered)
      },
    })
  }

  function askOf(request: FastifyRequest, reply: FastifyReply): AdminRequest {
    const { host, scheme, sessionUser } = arrivals.get(request) as Arrival
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    return {
      id: request.id,
      parts,
      door,
      params: request.params as { readonly [name: string]: string },
      query: request.query,
      body: request.body ?? {},
      headers: request.headers,
      remote: remoteOf(parts, request),
      host,
      scheme,
      sessionUser,
      left: AbortSignal.any([left.signal, closing.signal]),
    }
  }

  return {
    handle(req, res) {
      // HTTP/1.0 has no interim responses.
      if (req.headers.expect !== undefined && req.httpVersionMinor > 0) res.writeContinue()
      app.routing(req, res)
    },
    async close() {
      closing.abort()
      await app.close()
    },
  }
}

function buildValidator(): (route: { readonly schema: object }) => RequestValidator {
  return ({ schema }) => requestValidator(schema)
}

/** The schema of the body. A DELETE request may have no body at all. */
function bodySchemaOf({ method, body }: AnyRoute): { readonly body?: object } {
  if (method === 'GET') return {}
  if (method === 'DELETE') return body ? { body: { ...body, type: ['object', 'null'] } } : {}
  return { body: body ?? nothing }
}

function remoteOf(parts: AdminParts, { raw, headers }: FastifyRequest): string {
  const { trustedProxies } = parts.plan().server
  return plainAddress(callerAddress(raw.socket.remoteAddress ?? '', headers['x-forwarded-for'], trustedProxies))
}

/** @throws Failure invalid, cross_site, not_logged_in, forbidden, token_invalid … */
async function arrive(
  parts: AdminParts,
  { guard }: LoginThrottle,
  route: AnyRoute,
  request: FastifyRequest,
): Promise<Arrival> {
  const { headers } = request
  const scheme = readScheme(headers, 'encrypted' in request.raw.socket)
  const host = readHost(request.raw, scheme, parts.plan().server)
  // Pages and files are public, and available without the storage.
  const cookie = route.url.startsWith('/api/') ? readCookie(headers.cookie, scheme) : undefined
  const secret = route.access === 'anyone' ? undefined : readBearer(headers.authorization)
  // A proxy may add its own bearer token to the requests of a person who is signed in.
  if (secret !== undefined && (cookie === undefined || readAdminSecret(secret) !== undefined)) {
    // Pages of other sites cannot send this header, because browsers do not add it automatically. So the rules for
    // sessions are not needed.
    const found = await findTokenUser(parts, guard, { secret, remote: remoteOf(parts, request), route })
    if (!may(found.user, route.access as Duty)) throw fail('forbidden')
    return { host, scheme, sessionUser: found }
  }
  if (route.method !== 'GET') requireSameSite(headers, host, route.method !== 'DELETE')
  // A browser reconnects to the tail automatically, but without the header.
  const isPoll = headers['x-tollgate-poll'] === '1' || route.url === '/api/logs/tail'
  const sessionUser = cookie === undefined ? undefined : await findSessionUser(parts, cookie, isPoll)
  if (route.access === 'anyone') return { host, scheme, sessionUser }
  if (!sessionUser || isOfAnother(headers, sessionUser.user)) throw fail('not_logged_in')
  if (!may(sessionUser.user, route.access)) throw fail('forbidden')
  return { host, scheme, sessionUser }
}

/** Whether a page of the console shows another user: one who signed in before, in another tab of the browser. */
function isOfAnother(headers: FastifyRequest['headers'], { name }: User): boolean {
  const shown = headers['x-tollgate-user']
  return shown !== undefined && shown !== encodeURIComponent(name)
}

/**
 * Sends the response, compressed if the client accepts that. Responses to changes are never compressed: some contain a
 * new secret together with text from the request, and the compressed length would reveal it (BREACH). Responses to
 * reads contain no secret, and pages of other sites cannot use a person's session, whose cookie is `SameSite=Strict`.
 */
async function sendJson(reply: FastifyReply, accepted: string | string[] | undefined, answered: object) {
  const text = JSON.stringify(answered)
  reply.header('content-type', 'application/json; charset=utf-8').header('vary', 'accept-encoding')
  const zipped = chooseEncoding(accepted, ['gzip']) && (await compressOnTheWay(text))
  return zipped ? reply.header('content-encoding', 'gzip').send(zipped) : reply.send(text)
}

function sendReply(reply: FastifyReply, { status, headers, body }: Reply) {
  reply.status(status)
  for (const [name, value] of Object.entries(headers)) reply.header(name, value)
  const whole = body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
  return reply.send(whole ? body : Readable.from(body, { objectMode: false }))
}

/** Sends an error in the console's format. For an unexpected error, it contains only the request id. */
function answerError(parts: AdminParts, error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const failure = toFailure(error, parts)
  // An unreachable link in an answer is not an error of the console; the log already has the reason for the refusal.
  if (failure.status >= 500 && failure.code !== 'picture_refused')
    parts.log.error({ request: request.id, url: request.url.split('?', 1)[0], error }, 'the console failed')
  // The rest of the body is not read: the connection is closed after the response.
  if (!request.raw.complete) reply.header('connection', 'close')
  if (failure.retryAfterMs !== undefined) reply.header('retry-after', String(Math.ceil(failure.retryAfterMs / 1000)))
  for (const [name, value] of Object.entries(failure.headers)) reply.header(name, value)
  const { code, message, param } = failure
  return reply
    .status(failure.status)
    .headers(securityHeaders(request.url))
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ error: { code, message, field: param, request_id: request.id, ...refusalFacts(failure) } }))
}

/** The refusal as data, from which the console forms the text in the user's language. */
function refusalFacts({ values: { reason, ...values } }: Failure) {
  return { ...(reason !== undefined && { reason }), ...(Object.keys(values).length > 0 && { values }) }
}

type Foreseen = Partial<FastifyError> & {
  readonly name?: string
  readonly code?: string
  /** Only for a StorageError. */
  readonly params?: { readonly [name: string]: string | number }
}

function toFailure(error: unknown, { storage }: AdminParts): Failure {
  if (error instanceof Failure) return error
  const { name, code, statusCode, validation, message = '', params = {} } = error as Foreseen
  if (validation?.[0]) return invalidField(validation[0])
  if (name === 'StorageError') {
    const named = { name: params['name'] ?? '' }
    if (code === 'name_unprintable') return refuse('invalid', 'not_label', { field: 'name' }, { param: 'name' })
    if (code === 'user_exists') return refuse('conflict', code, named, { param: 'name' })
    if (code === 'token_exists') return refuse('conflict', code, named, { param: 'name' })
    if (code === 'name_alike') return refuse('conflict', code, named, { param: 'name' })
    if (code === 'name_erased') return refuse('conflict', code, named, { param: 'name' })
    if (code === 'erases_self') return refuse('conflict', code, named)
    if (code === 'erases_local') return refuse('conflict', code, {})
    if (code === 'erase_busy') return refuse('conflict', code, { ...named, count: params['count'] ?? '' })
    if (code === 'last_admin') return refuse('conflict', code, named, { param: 'role' })
    if (code === 'balance_full')
      return refuse('invalid', 'too_large', { field: 'amount', limit: params['left'] ?? '' }, { param: 'amount' })
    if (code === 'user_unknown') return refuse('invalid', code, named, { param: 'user' })
    return fail('storage_unavailable', {}, { retryAfterMs: 1_000 })
  }
  if (statusCode === 413) return fail('too_large')
  if (statusCode === 415) return refuse('invalid', 'not_json', {})
  if (statusCode !== undefined && statusCode < 500) return refuse('invalid', 'unreadable', { message })
  // The error of a failed read contains the database's message. Only writes determine whether the storage is healthy.
  return storage.ledger.healthy() ? fail('internal') : fail('storage_unavailable', {}, { retryAfterMs: 1_000 })
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The refusal of a method that a path does not have, or of an unknown path. */
function unknownEndpoint(app: FastifyInstance, { method, url }: FastifyRequest): Failure {
  const path = url.split('?', 1)[0] ?? ''
  const allow = methods.filter(one => app.findRoute({ method: one, url: path })).join(', ')
  if (allow === '' || !path.startsWith('/api/')) return fail('not_found')
  return fail('method_not_allowed', { path, method, allow }, { headers: { allow } })
}

/** The reason for a violated schema keyword. */
const limits: { readonly [keyword: string]: Reason } = {
  minLength: 'too_short',
  maxLength: 'too_long',
  minItems: 'too_few',
  maxItems: 'too_many',
  minimum: 'too_small',
  maximum: 'too_large',
}

function invalidField({
  instancePath,
  keyword,
  params,
  message = '',
}: NonNullable<FastifyError['validation']>[number]): Failure {
  const { missingProperty: missing, additionalProperty: unknown, allowedValues, format, limit, pattern } = params
  const named = missing ?? unknown
  const field = [...instancePath.split('/').slice(1), ...(typeof named === 'string' ? [named] : [])].join('.')
  const blamed = { param: field }
  if (typeof unknown === 'string') return refuse('invalid', 'field_unknown', { field }, blamed)
  if (typeof missing === 'string') return refuse('invalid', 'missing', { field }, blamed)
  if (field === '') return refuse('invalid', 'request', { message })
  if (format === 'date-time') return refuse('invalid', 'not_moment', { field }, blamed)
  if (Array.isArray(allowedValues))
    return refuse('invalid', 'not_allowed', { field, allowed: allowedValues.map(String).join(', ') }, blamed)
  const reason = patternReasons.get(String(pattern)) ?? (typeof limit === 'number' ? limits[keyword] : undefined)
  // For a pattern with several reasons, which need at most these values.
  if (reason === undefined && typeof pattern === 'string')
    return refuse('invalid', 'not_pattern', { field, pattern }, blamed)
  // Several types are separated by commas only.
  const why = keyword === 'type' ? message.replaceAll(',', ' or ') : message
  return refuse('invalid', reason ?? 'malformed', { field, message: why, limit: Number(limit) } as never, blamed)
}

/** Converts the texts of a query by its schema: integers and booleans. The schema validates everything else. */
function readQuery(query: object, schema: Schema): { readonly [name: string]: unknown } {
  const properties = (schema.properties ?? {}) as { readonly [name: string]: { readonly type?: unknown } }
  return Object.fromEntries(
    Object.entries(query).map(([name, text]: [string, unknown]) => {
      const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined
      if (type === 'integer' && typeof text === 'string' && /^\d{1,15}$/.test(text)) return [name, Number(text)]
      if (type === 'boolean' && (text === 'true' || text === 'false')) return [name, text === 'true']
      return [name, text]
    }),
  )
}
