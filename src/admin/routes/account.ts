import { openSessionsAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { password, passwordGuess } from '../schemas.ts'
import { checkPassword } from '../session/check-password.ts'
import { hasPassword } from '../session/need-fresh-sign-in.ts'
import { endSession, revokeSessionKeys, sessionId, sessionKeyName } from '../session/sessions.ts'
import { personOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

export const accountRoutes = [
  defineRoute({
    method: 'POST',
    url: '/api/account/password',
    access: 'user',
    summary: 'Change your own password. Your other sessions end.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['current', 'password'],
      properties: { current: passwordGuess, password },
    },
    status: 204,
    async handle(request) {
      const { parts, body, door } = request
      const { user, session } = personOf(request)
      checkPassword(body.password, user.name)
      if (!(await hasPassword(request, user.name, body.current)))
        throw refuse('invalid', 'password_current', {}, { param: 'current' })
      const passwordHash = await door.hashes.run(() => parts.hashPassword(body.password))
      // A password that was set meanwhile has ended this session.
      if (!(await parts.storage.users.setPassword(user.name, passwordHash, user.name, session.hash)))
        throw fail('not_logged_in')
      await revokeSessionKeys(parts, user.name, name => name !== sessionKeyName(session))
      return null
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/account/sessions',
    access: 'user',
    summary: 'List your own sessions.',
    answer: openSessionsAnswer,
    async handle(request) {
      const { user, session: own } = personOf(request)
      const sessions = await request.parts.storage.sessions.list(user.name)
      return {
        sessions: sessions.map(session => ({
          id: sessionId(session),
          created: toMoment(session.createdAt),
          seen: toMoment(session.seenAt),
          agent: session.agent,
          remote: session.remote,
          current: session.hash === own.hash,
        })),
      }
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/account/sessions/:id',
    access: 'user',
    summary: 'End one of your own sessions.',
    status: 204,
    async handle(request) {
      const { user } = personOf(request)
      const sessions = await request.parts.storage.sessions.list(user.name)
      const session = sessions.find(one => sessionId(one) === request.params['id'])
      if (!session) throw fail('not_found')
      await endSession(request.parts, session)
      return null
    },
  }),
]
