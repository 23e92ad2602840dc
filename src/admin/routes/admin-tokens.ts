import { type AdminToken, adminScopes, adminTokenRoles } from '../../domain/index.ts'
import { createAdminSecret, hashSecret, hintOfSecret, parseAddressRange } from '../../util/index.ts'
import { label, momentOrNull } from '../../domain/shapes/schemas.ts'
import { adminTokenAnswer, adminTokensAnswer, newAdminTokenAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { passwordGuess } from '../schemas.ts'
import { needFreshSignIn } from '../session/need-fresh-sign-in.ts'
import { sessionUserOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

export function showAdminToken({ id, name, role, scopes, ips, hint, by, ...times }: AdminToken) {
  const { createdAt, expiresAt, lastUsedAt } = times
  return {
    id,
    name,
    role,
    scopes: [...scopes],
    ips: ips && [...ips],
    hint,
    by,
    created: toMoment(createdAt),
    expires: expiresAt === null ? null : toMoment(expiresAt),
    last_used: lastUsedAt === null ? null : toMoment(lastUsedAt),
  }
}

export const adminTokenRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/admin-tokens',
    access: 'admin',
    summary: 'List the valid admin tokens, newest first.',
    answer: adminTokensAnswer,
    handle: async ({ parts }) => ({ tokens: (await parts.storage.adminTokens.list()).map(showAdminToken) }),
  }),
  defineRoute({
    method: 'GET',
    url: '/api/admin-tokens/current',
    access: 'readers',
    summary: 'Get the admin token that this request is made with.',
    answer: adminTokenAnswer,
    handle({ sessionUser }) {
      if (!sessionUser || !('token' in sessionUser)) throw fail('not_found')
      return showAdminToken(sessionUser.token)
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/admin-tokens',
    access: 'admin',
    summary: 'Create an admin token. Its secret is only in this response.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'role'],
      properties: {
        name: label,
        role: { type: 'string', enum: adminTokenRoles },
        scopes: {
          type: 'array',
          minItems: 1,
          uniqueItems: true,
          items: { type: 'string', enum: adminScopes },
          description: 'Scopes of the token. Absent: everything that its role allows.',
        },
        expires: { ...momentOrNull, description: 'Expiry time. Null or absent: the token does not expire.' },
        ips: {
          type: ['array', 'null'],
          minItems: 1,
          maxItems: 200,
          items: { type: 'string', maxLength: 200 },
          description:
            'Client addresses and CIDR blocks from which the token is accepted. Null or absent: all addresses.',
        },
        password: {
          ...passwordGuess,
          description: 'Password of the signed-in user. Required if they signed in more than 10 minutes ago.',
        },
      },
    },
    answer: newAdminTokenAnswer,
    status: 201,
    async handle(request) {
      const { parts, body } = request
      const { name, role, scopes = adminScopes, ips = null, expires } = body
      const wrong = ips?.find(ip => parseAddressRange(ip) === undefined)
      if (wrong !== undefined) throw refuse('invalid', 'address', { address: wrong }, { param: 'ips' })
      const expiresAt = typeof expires === 'string' ? Date.parse(expires) : null
      if (expiresAt !== null && !(expiresAt > parts.clock.now()))
        throw refuse('invalid', 'passed', {}, { param: 'expires' })
      await needFreshSignIn(request, body.password)
      const secret = createAdminSecret(parts.random)
      const made = { name, role, scopes, ips, expiresAt, hash: hashSecret(secret), hint: hintOfSecret(secret) }
      const created = await parts.storage.adminTokens.create(made, sessionUserOf(request).user.name)
      return { admin_token: showAdminToken(created), token: secret }
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/admin-tokens/:id',
    access: 'admin',
    summary: 'Revoke an admin token. The next request with it is refused.',
    status: 204,
    async handle(request) {
      const { user } = sessionUserOf(request)
      if (!(await request.parts.storage.adminTokens.revoke(request.params['id'] ?? '', user.name)))
        throw fail('not_found')
      return null
    },
  }),
]
