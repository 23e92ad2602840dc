import { waysIn } from '../../domain/index.ts'
import { sessionAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute, Reply } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { passwordGuess, password, userName } from '../schemas.ts'
import { checkPassword } from '../session/check-password.ts'
import { writeCookie } from '../session/cookie.ts'
import { describeSession, enter } from '../session/start-session.ts'
import { noteRefused } from '../session/note-refused.ts'
import { endSession, hashToken } from '../session/sessions.ts'
import { cookieOfIssuer, signOutAt } from '../sign-in/sign-out.ts'

/** Signs a user in, and returns the session. */
async function enterByPassword(request: AdminRequest, name: string, passwordHash: string): Promise<Reply> {
  const { session, cookie } = await enter(request, name, { passwordHash })
  const cookies = [cookie, ...cookieOfIssuer(request)]
  const headers = { 'content-type': 'application/json; charset=utf-8', 'set-cookie': cookies }
  return new Reply(200, headers, JSON.stringify(session))
}

export const sessionRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/session',
    access: 'anyone',
    summary: 'Get the signed-in user and the gateway.',
    answer: sessionAnswer,
    async handle(request) {
      if (request.sessionUser) return describeSession(request, request.sessionUser.user)
      const { code, message } = fail('not_logged_in')
      const setup_needed = !(await request.parts.storage.users.hasAdmin(waysIn(request.parts.plan())))
      const error = { code, message, field: null, request_id: request.id, setup_needed }
      return new Reply(401, { 'content-type': 'application/json; charset=utf-8' }, JSON.stringify({ error }))
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/setup',
    access: 'anyone',
    summary:
      'Create the first administrator with the token of the setup link that the gateway printed when it started.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['token', 'name', 'password'],
      properties: { token: { type: 'string', maxLength: 200 }, name: userName, password },
    },
    answer: sessionAnswer,
    async handle(request) {
      const { parts, body, remote, door } = request
      const { guard, hashes } = door
      const done = () => refuse('conflict', 'setup_done', {})
      const ways = waysIn(parts.plan())
      if (await parts.storage.users.hasAdmin(ways)) throw done()
      checkPassword(body.password, body.name)
      const tokenHash = hashToken(body.token)
      const passwordHash = await guard.attempt('', remote, async () => {
        const hash = await hashes.run(() => parts.hashPassword(body.password))
        const asked = { tokenHash, name: body.name, group: 'default', passwordHash: hash, ways }
        const claimed = await parts.storage.users.claimSetup(asked)
        if (claimed === 'done') throw done()
        return claimed === 'unknown' ? undefined : hash
      })
      if (passwordHash === undefined) throw refuse('invalid', 'setup_link', {}, { param: 'token' })
      return enterByPassword(request, body.name, passwordHash)
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/session',
    access: 'anyone',
    summary: 'Sign in. The response sets the session cookie.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'password'],
      properties: { name: { type: 'string', maxLength: 200 }, password: passwordGuess },
    },
    answer: sessionAnswer,
    async handle(request) {
      const { parts, body, remote } = request
      const { guard, hashes, decoy } = request.door
      if (!waysIn(parts.plan()).passwords) throw fail('passwords_off')
      const known = await guard.attempt(body.name, remote, async () => {
        const hash = await parts.storage.users.passwordHash(body.name)
        // Hashes the password for unknown users too: the response time must not reveal which names exist.
        const right = await hashes.run(async () => parts.verifyPassword(body.password, hash ?? (await decoy())))
        const user = right ? await parts.storage.users.find(body.name) : undefined
        return user?.status === 'active' ? hash : undefined
      })
      if (known === undefined) {
        parts.log.warn({ request: request.id, remote }, 'a login was refused')
        await noteRefused(request, body.name, 'password')
        throw fail('wrong_password')
      }
      guard.forgive(body.name, remote)
      return enterByPassword(request, body.name, known)
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/session',
    access: 'anyone',
    summary:
      'Sign out. The session and its API keys end. If `sign_out` of the identity provider requires it, the response is a 200 with `location` for the browser.',
    status: 204,
    async handle(request) {
      const { parts, sessionUser, scheme } = request
      if (sessionUser && 'session' in sessionUser) await endSession(parts, sessionUser.session)
      const cookies = { 'set-cookie': [writeCookie(null, scheme), ...cookieOfIssuer(request)] }
      const location = sessionUser && (await signOutAt(request))
      if (location === undefined) return new Reply(204, cookies)
      const headers = { 'content-type': 'application/json; charset=utf-8', ...cookies }
      return new Reply(200, headers, JSON.stringify({ location }))
    },
  }),
]
